#!/usr/bin/env bash
# Capsules on a machine with an NVIDIA GPU and without network: captured launches of CUDA programs (compiled, PyTorch, CuPy) and of OpenCL programs on
# NVIDIA's driver replay to the captured results; planted faults keep their cause when shrunk; the first NaN of CUDA programs and what looking for it costs.
# Needs nvcc, cc, and Python 3.12 with PyTorch and CuPy; what else it lacks is carried along in build/wheels (tools/opencl_checks_on_gpu.sh has the list).
#
#   tools/capsules_on_gpu.sh [RESULTS_FOLDER]       results are written as they come; the folder is $OUT unless it is named
#
# LIMIT is in seconds; PARTS chooses from: cuda replay nan shrink.
set -u
cd "$(dirname "$0")/.." || exit 1
results=${1:-${OUT:-benchmarks/results}}
python=${PYTHON:-python3}
work=$(mktemp -d)
mkdir -p "$results" "$work/site" "$work/vendors"
log=$results/capsules-on-gpu.txt
limit=${LIMIT:-200}
jobs=${JOBS:-14}
say() { echo "$SECONDS s: $*" | tee -a "$log"; }
left() { echo $((SECONDS + ${1:-0} < limit ? limit - SECONDS - ${1:-0} : 1)); }
: > "$log"
for wheel in build/wheels/*.whl; do [ -e "$wheel" ] && "$python" -m zipfile -e "$wheel" "$work/site"; done
for more in "$work"/site/*.data/platlib "$work"/site/*.data/purelib; do [ -d "$more" ] && cp -r "$more"/. "$work/site/"; done  # as pip does
echo "${DRIVER:-libnvidia-opencl.so.1}" > "$work/vendors/driver.icd"
export OCL_ICD_VENDORS=$work/vendors PYTHONPATH=$PWD/src:$work/site PYOPENCL_NO_CACHE=1 PYTHONUNBUFFERED=1 GPUDX_CASES=none
command -v nvcc > /dev/null || PATH=$PATH:/usr/local/cuda/bin
GPUDX_LIB=$(PYTHON=$python tools/recorder_with_cc.sh "$work") || { say "the recorder was not built"; exit 1; }
export GPUDX_LIB
say "built; $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -1)"
for part in ${PARTS:-cuda replay nan shrink}; do
    say "== $part"
    timeout "$(left)" "$python" benchmarks/capsules.py --parts "$part" --jobs "$jobs" --budget 20 --out "$results/capsules-$part.txt" 2>&1 | tee -a "$log"
done
say done
