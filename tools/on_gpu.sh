#!/usr/bin/env bash
# Everything that needs a GPU, on a machine without network: builds the recorder with cc, runs the CUDA incidents and their
# twins, correct programs, and the benchmarks, and prints the tables last. Python packages that are missing there can be
# carried along: pip install --target build/site --no-deps pyelftools
#
#   tools/on_gpu.sh [--quick] [RESULTS_FOLDER]
set -u
cd "$(dirname "$0")/.." || exit 1
quick=""; [ "${1:-}" = --quick ] && { quick=--quick; shift; }
results=${1:-benchmarks/results}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
export PYTHONPATH=$PWD/src:$PWD/build/site GPUDX_LIB=$work/libgpudx.so
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
mkdir -p "$results"
python3 tools/generate.py schema "$work/gen" || exit 1
cc -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Inative -I"$work/gen" -shared -Wl,-z,nodelete,-z,now \
    -o "$GPUDX_LIB" native/core/*.c native/opencl/{arguments,describe,hooks,layer}.c native/cuda/*.c \
    "$work"/gen/{gdx_schema,cl_wrappers,cu_wrappers}.c -ldl -lpthread || exit 1
table=$work/table.md
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
{
    echo "# CUDA on a real GPU"
    echo
    echo "$(date +%Y-%m-%d), $device, commit $commit"
    echo
    echo "| incident | fault | correct twin |"
    echo "| --- | --- | --- |"
} > "$table"
last() { tail -1 "$1" | cut -c1-150 | tr '|' '/'; }
for incident in incidents/cuda-*; do
    name=$(basename "$incident")
    timeout 120 python3 -m gpudx demo "$name" --case "$work/$name" > "$work/$name.out" 2> "$work/$name.err"; bad=$?
    timeout 120 python3 -m gpudx demo "$name" --twin --case "$work/$name-twin" > "$work/$name-twin.out" 2> "$work/$name-twin.err"; good=$?
    echo "| $name | $([ $bad = 0 ] && echo ok || echo "NOT OK: $(last "$work/$name.err")") | $([ $good = 0 ] && echo ok || echo "NOT OK: $(last "$work/$name-twin.err")") |" >> "$table"
    sed -n 1,40p "$work/$name.err"
done
{
    echo
    echo "| correct program | exit | findings of severity error |"
    echo "| --- | --- | --- |"
} >> "$table"
for smoke in torch cupy triton numba; do
    timeout 180 python3 -m gpudx run --quiet --case "$work/$smoke" -- python3 benchmarks/cuda/${smoke}_smoke.py > "$work/$smoke.out" 2> "$work/$smoke.err"; status=$?
    errors=$(python3 -c "
import json, sys
case = json.load(open('$work/$smoke/case.json'))
found = [f['message'] for f in case['findings'] if f['severity'] == 'error']
launches = sum(p['launches'] for p in case['processes'])
print(len(found), 'of', launches, 'launches;', ' '.join(found)[:200].replace('|', '/'))" 2>&1 | tail -1)
    echo "| ${smoke} smoke: $(tail -1 "$work/$smoke.out" | cut -c1-60) | $status | $errors |" >> "$table"
done
echo >> "$table"
timeout 300 python3 benchmarks/cuda/run_gpu.py $quick --commit "$commit" > "$work/bench.txt" 2>&1
cp "$table" "$results/$(date +%Y-%m-%d)-cuda-incidents.md"
tail -60 "$work/bench.txt"
cat "$table"
[ -n "${OUT:-}" ] && tar czf "$OUT/cases.tgz" -C "$work" $(cd "$work" && ls -d cuda-* torch cupy triton numba 2>/dev/null | grep -v '\.out$' | head -40) 2>/dev/null
exit 0
