#!/usr/bin/env bash
# HIP on real AMD hardware, in one command: runs every HIP test and demo on the installed runtime and packs the results into one
# file that you can send us. Nothing leaves the machine by itself.
#
#   tools/hip_smoke.sh [RESULT.tar.gz]        about ten minutes; needs a checkout, hipcc and /dev/kfd
#   GPUDX_HIP_SMOKE_SIMULATED=1 tools/hip_smoke.sh    the same on the simulated runtime, to try the script out
#   GPUDX_HIP_SMOKE_TESTS=tests/hip/test_hip_faults.py tools/hip_smoke.sh    only these tests
#
# Tests that plant a behaviour of the simulated runtime are skipped on a real one.
set -u
cd "$(dirname "$0")/.." || exit 1
result=$(realpath -m "${1:-gpudx-hip-$(date +%Y%m%d-%H%M%S).tar.gz}")
simulated=${GPUDX_HIP_SMOKE_SIMULATED:-}
if [ ! -e /dev/kfd ] && [ -z "$simulated" ]; then
    echo "There is no AMD GPU here (/dev/kfd is missing): run this on a machine that has one." >&2; exit 2
fi
command -v hipcc >/dev/null || export PATH=$PATH:/opt/rocm/bin
if ! command -v hipcc >/dev/null; then
    echo "hipcc is missing: install ROCm's compiler (apt install hipcc), or put its folder into PATH." >&2; exit 2
fi
venv=${VENV:-.venv}
if [ ! -x "$venv/bin/python" ]; then
    echo "There is no Python environment in $venv: run 'make .venv/installed' first, or name one in VENV." >&2; exit 2
fi
venv=$(realpath "$venv")
work=$(mktemp -d) || exit 1
out=$work/gpudx-hip
mkdir -p "$out/demos"
export PATH=$venv/bin:$PATH PYTHONPATH=$PWD/src

# Programs are built for gfx90a, and here for the device that is there too.
arch=$(rocm_agent_enumerator 2>/dev/null | grep -v gfx000 | head -1)
[ -n "$arch" ] && [ "$arch" != gfx90a ] && export HIPCC_COMPILE_FLAGS_APPEND="--offload-arch=$arch ${HIPCC_COMPILE_FLAGS_APPEND:-}"

step() { echo "hip_smoke: $1" >&2; }
kept() { # kept FILE COMMAND...: what it printed, and how it ended
    local file=$1; shift
    { echo "\$ $*"; timeout "${LIMIT:-120}" "$@"; echo "exit status $?"; } >"$out/$file" 2>&1
}

step "what is installed"
kept machine.txt uname -srm
HIP_PLATFORM=amd kept hipcc.txt hipcc --version  # hipcc asks nvcc instead where it finds one
command -v rocminfo >/dev/null && kept rocminfo.txt rocminfo
ls -d /opt/rocm* >"$out/rocm.txt" 2>/dev/null
cat /sys/module/amdgpu/version >"$out/amdgpu.txt" 2>/dev/null
env | grep -E '^(HIP|HSA|ROCR|AMD|GPU|GPUDX)_' | sort >"$out/environment.txt"
git rev-parse HEAD >"$out/commit.txt" 2>/dev/null

step "building the recorder"
LIMIT=900 kept build.txt tools/test --version
if [ ! -e build/native/libgpudx.so ]; then
    cat "$out/build.txt" >&2; echo "The recorder could not be built: see above." >&2; exit 1
fi
export GPUDX_TEST_NATIVE=$PWD/build/native  # as in tools/test: tests do not build it again
kept doctor.txt python -m gpudx doctor -v
for include in /opt/rocm*/include /usr/include; do
    [ -f "$include/hip/hip_runtime_api.h" ] && kept "signatures$(echo "$include" | tr / -).txt" python tools/hip_signatures.py "$include"
done

step "tests (a few minutes)"  # one device runs one at a time
LIMIT=1500 kept tests.txt python -m pytest ${GPUDX_HIP_SMOKE_TESTS:-tests/hip} ${simulated:+-n 2} -q -p no:cacheprovider --timeout=180 --junit-xml="$out/tests.xml"

for demo in $(cd incidents && ls -d hip-*); do
    step "demo $demo"
    LIMIT=400 kept "demos/$demo.txt" python -m gpudx demo "$demo" --case "$out/demos/$demo"
    LIMIT=400 kept "demos/$demo-twin.txt" python -m gpudx demo "$demo" --twin --case "$out/demos/$demo-twin"
done

step "tests: $(grep -E '[0-9]+ (passed|failed|skipped|error)' "$out/tests.txt" | tail -n 1)"
step "demos as expected: $(grep -l 'exit status 0' "$out"/demos/*.txt | wc -l) of $(find "$out/demos" -maxdepth 1 -name '*.txt' | wc -l)"
tar -czf "$result" -C "$work" gpudx-hip && rm -rf "$work"
echo "hip_smoke: wrote $result"
