#!/usr/bin/env bash
# PyTorch, CuPy and Triton on a machine with a GPU and without network: planted faults, then what recording and fencing cost.
# Python packages that are missing there can be carried along: pip install --target build/site --no-deps pyelftools click
#   OUT=results tools/torch_on_gpu.sh            about 4 minutes; results are written as they come
#   OUT=results tools/torch_on_gpu.sh cost       only the costs; "faults": only the faults; "ranks": jobs of many ranks; "memcheck": costs, and memcheck beside them
set -u
cd "$(dirname "$0")/.." || exit 1
out=${OUT:-$(mktemp -d)}; mkdir -p "$out"
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
export PYTHONPATH=$PWD/src:$PWD/build/site
GPUDX_LIB=$(tools/recorder_with_cc.sh "$work") || exit 1
export GPUDX_LIB
what=${1:-all}
{
    python3 -c 'import torch, sys; print(sys.version.split()[0], torch.__version__, torch.cuda.get_device_name())'
    if [ "$what" = all ] || [ "$what" = faults ]; then
        timeout 80 python3 benchmarks/torch_faults.py --out "$out" --jobs 7 --limit 60
        timeout 100 python3 benchmarks/torch_faults.py --out "$out" --how investigate --jobs 7 --limit 75
    fi
    if [ "$what" = ranks ]; then
        timeout "${LIMIT:-140}" python3 benchmarks/torch_ranks.py --out "$out" --runs "${RUNS:-20}" --jobs 3
    fi
    [ "$what" = faults ] || [ "$what" = ranks ] || timeout 150 python3 benchmarks/cuda/torch_cost.py --out "$out" $([ "$what" = memcheck ] && echo --memcheck)
} 2>&1 | tee "$out/torch.txt"
exit 0
