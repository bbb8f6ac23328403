#!/usr/bin/env bash
# Backward slices on a real GPU: runs planted programs under memcheck and with a device dump, and lists for each which argument was
# named and how the machine code computes the address. Needs gpudx with a built recorder (GPUDX_LIB), nvdisasm and compute-sanitizer.
#
#   OUT=results tests/cuda/gpu/origins.sh FOLDER_OF_PROGRAMS [PROGRAM...]        about 15 s for each program
set -u
programs=${1:?name the folder that has the programs}; shift
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
[ $# -gt 0 ] || set -- embedding_gather stencil_left_edge column_block_stride fault_blamed_on_copy optional_bias_null \
    prefix_block_sums reduce_partials_floor topk_workspace member_capture driver_int_for_size scale_tail spmv_row_pointers
for name; do
    for how in --sanitize --dump "--dump --fence"; do
        case_=$(mktemp -d)/case
        # shellcheck disable=SC2086  # two options in one word
        timeout 60 python3 -m gpudx run $how --case "$case_" -- "$programs/$name" > /dev/null 2>&1
        python3 - "$name" "$how" "$case_/case.json" >> "$out/origins.jsonl" << 'END'
import json, sys
name, how, path = sys.argv[1:]
try:
    case = json.load(open(path))
except OSError as error:
    case = {"findings": [], "diagnosis": [], "problem": str(error)}
found = [f for f in case["findings"] if (f.get("access") or {}).get("origin")]
best = (case["diagnosis"] or [None])[0]
print(json.dumps({
    "name": name, "how": how, "problem": case.get("problem", ""),
    "origins": [f["access"]["origin"] for f in found], "messages": [f["message"] for f in found],
    "diagnosis": best and {key: best.get(key) for key in ("cause", "status")} | {"argument": (best.get("guilty") or {}).get("argument")},
}))
END
    done
done
echo "wrote $out/origins.jsonl"
