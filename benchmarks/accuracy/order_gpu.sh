#!/usr/bin/env bash
# The order programs on a GPU: experiments by hand first (what the recorder does), then gpudx investigate on each program.
#   benchmarks/accuracy/order_gpu.sh [SECONDS_PER_PROGRAM]     results are written under $OUT as they come
# Needs the programs built (benchmarks/accuracy/plain.py --api cuda --build-only) and PYTHON, a Python with gpudx's packages.
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-build/accuracy/order-gpu}
python=${PYTHON:-python3}
mkdir -p "$out"
export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}" CUDA_MODULE_LOADING=EAGER
for name in result_read_early pinned_pool_block registered_vector_grows staging_overwritten two_streams_no_event; do
    program=$(find build/accuracy/programs/cuda -type f -perm -u+x -name "$name*" ! -name '*twin*' | head -1)
    [ -n "$program" ] || continue
    for transfers in "" all; do
        GPUDX_BLOCKING_TRANSFERS=$transfers timeout 60 "$python" -m gpudx run --quiet --case "$out/$name-${transfers:-plain}" \
            --timeout 30 -- "$program" >"$out/$name-${transfers:-plain}.txt" 2>&1
        echo "$name transfers=${transfers:-plain} status=$?" | tee -a "$out/by-hand.txt"
    done
done
exec "$python" benchmarks/accuracy.py --api cuda --group order --mode run --mode investigate --budget "${1:-60}" --out "$out"
