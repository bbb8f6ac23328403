#!/bin/sh
# Verdicts on a real GPU, after a change of the investigator or of the checks inside kernels:
#
#   OUT=results sh tests/cuda/gpu/verdicts.sh [PROGRAM...]
#
# Runs the tests of hangs and of kernels that check themselves, then investigates planted programs (and their twins) of
# benchmarks/accuracy. Results are written as they come: $OUT/tests.txt, $OUT/NAME.screen, $OUT/cases.tar.xz.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
out=${OUT:-$root/build/verdicts}
python=${PYTHON:-python3}
programs=${*:-barrier_in_branch flag_never_set shuffle_full_mask warp_synchronous_tail threads_share_scratch float_for_double device_heap_exhausted}
export PYTHONPATH="$root/src:$root/tests/cuda:$root/tests"
mkdir -p "$out/work"
cd "$root" || exit 1
"$python" -m pytest -q -p no:cacheprovider tests/cuda/test_hangs_on_gpu.py tests/cuda/test_ptx_checks_on_gpu.py \
    tests/cuda/test_on_gpu.py -k "hang or ptx or serialised or shuffle or hand or neighbours or between or shared" >"$out/tests.txt" 2>&1
for name in $programs; do
    for twin in "" -DTWIN; do
        made="$name$([ -n "$twin" ] && echo .twin)"
        nvcc -O2 -lineinfo -arch=native $twin "benchmarks/accuracy/programs/cuda/$name.cu" -o "$out/work/$made" || continue
        budget=$([ -n "$twin" ] && echo 25s || echo 60s)
        ( cd "$out/work" && timeout 120 "$python" -m gpudx investigate --budget "$budget" --case "case-$made" -- "./$made" ) >"$out/$made.screen" 2>&1
    done
done
tar -C "$out/work" -cJf "$out/cases.tar.xz" --exclude=traces $(cd "$out/work" && ls -d case-*)
rm -rf "$out/work"
tail -3 "$out/tests.txt"
head -3 "$out"/*.screen
