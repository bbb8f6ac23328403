#!/usr/bin/env bash
# Everything that needs a GPU, on a machine without network: builds the recorder with cc, runs the tests that are marked
# gpu, then the benchmarks and the correct programs, and prints the tables last. Python packages that are missing there can
# be carried along: pip install --target build/site --no-deps pyelftools pytest-xdist execnet
#
#   tools/on_gpu.sh [--quick | --tests] [RESULTS_FOLDER]      --tests: no benchmarks
set -u
cd "$(dirname "$0")/.." || exit 1
how=""; case "${1:-}" in --quick | --tests) how=$1; shift ;; esac
results=${1:-benchmarks/results}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
export PYTHONPATH=$PWD/src:$PWD/build/site
GPUDX_LIB=$(tools/recorder_with_cc.sh "$work") || exit 1
export GPUDX_LIB
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
mkdir -p "$results"
workers=$(python3 -c "import xdist; print('-n ${WORKERS:-8} --dist load')" 2>/dev/null)
timeout 560 python3 -m pytest $workers -m gpu -p no:cacheprovider -q --tb=short --junit-xml="$work/tests.xml" tests/cuda tests/order > "$work/tests.txt" 2>&1
tail -150 "$work/tests.txt"
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
table=$results/cuda-tests.md
python3 - "$work/tests.xml" "$(date +%Y-%m-%d), $device, commit $commit" > "$table" << 'END'
import sys
from xml.etree import ElementTree

print(f"# Tests on a real GPU\n\n{sys.argv[2]}\n\n| test | result | s |\n| --- | --- | ---: |")
for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
    bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    print(f"| {case.get('name')} | {bad[0] if bad else 'passed'} | {float(case.get('time', 0)):.1f} |")
END
[ "$how" = --tests ] || timeout 500 python3 benchmarks/cuda/run_gpu.py ${how:+"$how"} --commit "$commit"
cat "$table"
[ -n "${OUT:-}" ] && cp "$results"/*cuda* "$OUT/"
exit 0
