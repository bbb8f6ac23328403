#!/usr/bin/env bash
# The checks inside OpenCL kernels on NVIDIA's OpenCL driver, on a machine without network. Wheels that are missing there are
# carried along in build/wheels (the Python there is 3.12):
#   pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
#     --platform manylinux2010_x86_64 -d build/wheels libclang pyopencl pytools siphash24 platformdirs typing_extensions pyelftools
#
#   tools/opencl_checks_on_gpu.sh [RESULTS_FOLDER]       results are written as they come, also to $OUT
set -u
cd "$(dirname "$0")/.." || exit 1
results=${1:-${OUT:-benchmarks/results}}
work=$(mktemp -d)
mkdir -p "$results" "$work/site" "$work/vendors"
for wheel in build/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
echo libnvidia-opencl.so.1 > "$work/vendors/nvidia.icd"
export OCL_ICD_VENDORS=$work/vendors PYTHONPATH=$PWD/src:$work/site GPUDX_LIB=$work/libgpudx.so PYOPENCL_NO_CACHE=1 PYTHONUNBUFFERED=1
python3 tools/generate.py schema "$work/gen" || exit 1
cc -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Inative -I"$work/gen" -shared -Wl,-z,nodelete,-z,now \
    -o "$GPUDX_LIB" $(ls native/{opencl,core,driver,cuda,hip}/*.c | grep -v symbols.c) \
    "$work"/gen/{gdx_schema,cl_wrappers,cu_wrappers,hip_wrappers}.c -ldl -lpthread || exit 1
log=$results/kernel-checks-nvidia.txt
python3 -c 'import pyopencl as cl; d = cl.get_platforms()[0].get_devices()[0]; print(d.platform.name, d.name, d.driver_version)' | tee "$log"
echo "== a program sees the same" | tee -a "$log"
python3 tests/kernel_checks/programs/queries.py > "$work/plain.txt"
timeout 120 python3 -m gpudx run --sanitize=opencl -q --case "$work/same" -- python3 tests/kernel_checks/programs/queries.py > "$work/checked.txt"
diff "$work/plain.txt" "$work/checked.txt" && echo identical | tee -a "$log"
echo "== planted" | tee -a "$log"
timeout 240 python3 -m gpudx run --sanitize=bounds,align,uninit,races,barriers,overflow,div,nan,loops -q --case "$work/planted" -- \
    python3 tests/kernel_checks/planted_host.py tests/kernel_checks/planted/*.cl
python3 tests/kernel_checks/planted_score.py "$work/planted" | tee -a "$log"
cp "$work/planted/case.json" "$results/kernel-checks-nvidia-case.json"
echo "== benchmark" | tee -a "$log"
timeout 200 python3 benchmarks/kernel_checks.py --platform nvidia --megabytes 256 --size 1024 2>&1 | tee -a "$log"
