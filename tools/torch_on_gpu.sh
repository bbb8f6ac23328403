#!/usr/bin/env bash
# PyTorch, CuPy and Triton on a machine with a GPU and without network: what recording and fencing cost, planted faults, jobs of many ranks.
# Python packages that are missing there can be carried along: pip install --target build/site --no-deps pyelftools click
#   OUT=results tools/torch_on_gpu.sh                    cost, faults and investigate: about 5 minutes
#   OUT=results tools/torch_on_gpu.sh cost ranks ...     only these parts, in this order
# Parts: cost (150 s), memcheck (costs, and memcheck once beside them), faults (60 s), investigate (90 s), smoke (60 s), ranks (170 s, 50 jobs).
# COST_S and RANKS_S change two of the limits. Results are written to $OUT as they come, the text to $OUT/torch.txt.
set -u
cd "$(dirname "$0")/.." || exit 1
out=${OUT:-$(mktemp -d)}; mkdir -p "$out"
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
export PYTHONPATH=$PWD/src:$PWD/build/site
GPUDX_LIB=$(tools/recorder_with_cc.sh "$work") || exit 1
export GPUDX_LIB

# The outcome of programs that are right, as it is and fenced.
smoke() {
    for name in cupy_smoke torch_smoke triton_smoke numba_smoke; do
        python3 "benchmarks/cuda/$name.py" > "$work/plain" 2>&1; plain=$?
        python3 -m gpudx run --fence --case "$work/$name" --error-exitcode 99 -- python3 "benchmarks/cuda/$name.py" > "$work/fenced" 2> "$work/screen"
        fenced=$?
        echo "smoke $name: plain $plain ($(tail -n 1 "$work/plain")), fenced $fenced ($(tail -n 1 "$work/fenced"))"
        [ "$plain" = "$fenced" ] || tail -n 25 "$work/screen"
    done
}
export -f smoke; export work

part() {
    case $1 in
        cost) timeout 240 python3 benchmarks/cuda/torch_cost.py --out "$out" --limit "${COST_S:-140}" ;;
        memcheck) timeout 270 python3 benchmarks/cuda/torch_cost.py --out "$out" --limit "${COST_S:-140}" --memcheck ;;
        faults) timeout 60 python3 benchmarks/torch_faults.py --out "$out" --jobs 10 --limit 50 ;;
        investigate) timeout 90 python3 benchmarks/torch_faults.py --out "$out" --how investigate --jobs 10 --limit 80 ;;
        smoke) timeout 60 bash -c smoke ;;
        ranks) timeout 260 python3 benchmarks/torch_ranks.py --out "$out" --runs "${RUNS:-50}" --jobs 4 --limit "${RANKS_S:-170}" ;;
        *) echo "no such part: $1" ;;
    esac
}

{
    python3 -c 'import torch, sys; print(sys.version.split()[0], torch.__version__, torch.cuda.get_device_name())'
    [ $# -gt 0 ] || set -- cost faults investigate
    for one in "$@"; do
        echo "== $one at $SECONDS s"
        part "$one"
    done
    echo "== end at $SECONDS s"
} 2>&1 | tee "$out/torch.txt"
exit 0
