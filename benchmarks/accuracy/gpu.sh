#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: checks the CUDA programs without gpudx, then measures the modes that are given.
#   OUT=results benchmarks/accuracy/gpu.sh                  only the check
#   OUT=results benchmarks/accuracy/gpu.sh run fence        and gpudx run, gpudx run --fence
# Uses build/accuracy/cuda-programs.tar.xz where it is there (see README.md), else nvcc. Results are written as they come.
set -u
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
out=${OUT:-build/accuracy}
mkdir -p "$out"
archive=build/accuracy/cuda-programs.tar.xz
[ ! -f $archive ] || tar -C build/accuracy -xJmf $archive
if [ $# -eq 0 ] || [ -z "${SKIP_PLAIN:-}" ]; then
    "$python" benchmarks/accuracy/plain.py --api cuda --runs 3 --jobs "$(nproc)" --parallel 4 --limit 10 --out "$out" | tee "$out/plain.txt"
fi
for mode in "$@"; do
    "$python" benchmarks/accuracy.py --api cuda --mode "$mode" --jobs 4 --budget 60 --out "$out" | tee "$out/accuracy-$mode.txt"
    cp "$out/accuracy.md" "$out/accuracy-$mode.md"
done
