#!/usr/bin/env bash
# Captures launches of capsules.cu on a machine with a GPU, replays each, and prints a table; results go to $OUT/capsules.txt as they come.
# Needs nvcc, cc, and a Python with gpudx's dependencies ($PYTHON). About 2 minutes.
#
#   OUT=/tmp/out PYTHON=.venv/bin/python tests/cuda/gpu/capsules.sh
set -u
cd "$(dirname "$0")/../../.." || exit 1
out=${OUT:-$(mktemp -d)}
python=${PYTHON:-python3}
work=$(mktemp -d)
mkdir -p "$out"
command -v nvcc > /dev/null || PATH=$PATH:/usr/local/cuda/bin
GPUDX_LIB=$(PYTHON=$python tools/recorder_with_cc.sh "$work/recorder") || exit 1
nvcc -arch="${ARCH:-sm_90}" -o "$work/app" tests/cuda/gpu/capsules.cu || exit 1
export GPUDX_LIB PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH} GPUDX_CASES=none
say() { echo "$*" | tee -a "$out/capsules.txt"; }
say "plain: $("$work/app")"
for what in scaled scaled#2 scaled#3 gather reduce count weigh rows_of grid3; do
    case=$work/case-$what
    printed=$(timeout 100 "$python" -m gpudx run --case "$case" --capture "$what" -- "$work/app" 2> "$work/said")
    capsule=$(ls "$case"/*.gpucapsule 2> /dev/null)
    say "$what: printed $printed; $(grep -h captured "$work/said" || tail -2 "$work/said")"
    [ -n "$capsule" ] && say "  $(timeout 100 "$python" -m gpudx replay "$capsule" --times 3 2>&1 | head -4)"
done
timeout 100 "$python" -m gpudx run --case "$work/fault" --capture faulty -- "$work/app" fault > "$work/said" 2>&1
say "faulty: $(grep -h 'illegal\|captured' "$work/said" | head -3)"
capsule=$(ls "$work"/fault/*.gpucapsule 2> /dev/null)
[ -n "$capsule" ] && say "  $(timeout 100 "$python" -m gpudx replay "$capsule" 2>&1 | head -3)"
grep -c "EQUAL" "$out/capsules.txt" | xargs -I{} echo "equal: {} of 9" | tee -a "$out/capsules.txt"
