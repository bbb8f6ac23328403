#!/usr/bin/env bash
# The programs of this folder on whatever OpenCL device there is, with checks: faulty ones, and correct ones that must stay silent.
# Usage: PYTHON=.venv/bin/python tests/kernel_checks/on_device.sh OUT. One line per program; the cases are in OUT.
set -u
here=$(dirname "$0") out=${1:?a folder for the cases} python=${PYTHON:-python3}
export PYOPENCL_NO_CACHE=1 PYOPENCL_CTX=0 GPUDX_CASES=none
mkdir -p "$out"

check() { # name, checks, program and arguments
  local name=$1 checks=$2
  shift 2
  timeout 120 "$python" -m gpudx run -q "--sanitize=$checks" --case "$out/$name" -- "$python" "$@" >"$out/$name.txt" 2>&1
  "$python" - "$out/$name/case.json" "$name" <<'P' | tee -a "$out/summary.txt"
import json, sys
try:
    case = json.load(open(sys.argv[1]))
except OSError:
    sys.exit(print(sys.argv[2], "no case"))
found = [f"{one['site'].get('kernel')}:{one['id'].removeprefix('kernel-check-')}" for one in case["findings"] if "kernel-check" in one["id"]]
print(sys.argv[2], len(found), " ".join(sorted(found)), *[one for one in case["not_checked"] if "without checks" in one])
P
}

for how in wrong right; do
  for program in reasons races partial images; do check "$program-$how" opencl "$here/programs/$program.py" $how; done
  check "operands-$how" nan,div,bounds "$here/programs/operands.py" $how
done
check planted-arithmetic opencl "$here/planted_host.py" "$here/planted/arithmetic.cl"
