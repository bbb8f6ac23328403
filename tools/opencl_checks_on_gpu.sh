#!/usr/bin/env bash
# The checks inside OpenCL kernels on NVIDIA's OpenCL driver, in two minutes, on a machine without network. What its Python (3.12, with numpy)
# lacks is carried along in build/wheels, 27 MB:
#   pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
#     --platform manylinux2010_x86_64 -d build/wheels libclang pyopencl pytools siphash24 platformdirs typing_extensions pyelftools \
#     rich psutil click markdown-it-py mdurl pygments
#
#   tools/opencl_checks_on_gpu.sh [RESULTS_FOLDER]       results are written as they come; the folder is $OUT unless it is named
#
# DRIVER and PYTHON choose another driver's library and another interpreter; LIMIT is in seconds; FILES are the planted kernels, all unless given.
set -u
cd "$(dirname "$0")/.." || exit 1
results=${1:-${OUT:-benchmarks/results}}
python=${PYTHON:-python3}
work=$(mktemp -d)
mkdir -p "$results" "$work/site" "$work/vendors"
log=$results/kernel-checks-nvidia.txt
limit=${LIMIT:-116}  # seconds for all of it
say() { echo "$SECONDS s: $*" | tee -a "$log"; }
left() { echo $((SECONDS < $1 ? $1 - SECONDS : 1)); }
: > "$log"
for wheel in build/wheels/*.whl; do [ -e "$wheel" ] && "$python" -m zipfile -e "$wheel" "$work/site"; done
for more in "$work"/site/*.data/platlib "$work"/site/*.data/purelib; do [ -d "$more" ] && cp -r "$more"/. "$work/site/"; done  # as pip does
echo "${DRIVER:-libnvidia-opencl.so.1}" > "$work/vendors/driver.icd"
export OCL_ICD_VENDORS=$work/vendors PYTHONPATH=$PWD/src:$work/site PYOPENCL_NO_CACHE=1 PYTHONUNBUFFERED=1
GPUDX_LIB=$(PYTHON=$python tools/recorder_with_cc.sh "$work") || { say "the recorder was not built"; exit 1; }
export GPUDX_LIB
say "built"
"$python" -c 'import pyopencl as cl; d = cl.get_platforms()[0].get_devices()[0]; print(d.platform.name, d.name, d.driver_version)' 2>&1 | tee -a "$log"
say "== a program sees the same"
"$python" tests/kernel_checks/programs/queries.py > "$work/plain.txt" 2>&1
timeout 30 "$python" -m gpudx run --sanitize=opencl -q --case "$work/same" -- "$python" tests/kernel_checks/programs/queries.py > "$work/checked.txt" 2>&1
diff "$work/plain.txt" "$work/checked.txt" > "$work/diff.txt" && say identical || { say "not identical"; head -20 "$work/diff.txt" | tee -a "$log"; }
say "== cost"
timeout "$(left 55)" "$python" benchmarks/kernel_checks.py --megabytes 256 --size 1024 --rounds 1 --launches 5 2>&1 | tee -a "$log"
say "== planted faults"
for file in ${FILES:-tests/kernel_checks/planted/*.cl}; do
    [ "$SECONDS" -lt "$((limit - 8))" ] || { say "no time for $file"; continue; }
    name=$(basename "$file" .cl)
    checks=opencl  # with more, nothing is left out that the sizes of a launch prove
    [ "$name" = nan_loops ] && checks=bounds,align,uninit,races,barriers,overflow,div,nan,loops
    timeout "$(left "$limit")" "$python" -m gpudx run --sanitize=$checks -q --case "$work/$name" -- \
        "$python" tests/kernel_checks/planted_host.py "$file" > "$work/$name.txt" 2>&1
    "$python" tests/kernel_checks/planted_score.py "$work/$name" "$name" > "$work/score.txt" 2>&1 || tail -3 "$work/$name.txt" >> "$work/score.txt"
    say "$name: $(cat "$work/score.txt")"
done
say done
