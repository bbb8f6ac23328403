#!/usr/bin/env bash
# Breadcrumbs on a machine with a GPU and without network: builds the recorder with cc, then measures (crumbs.py).
#
#   benchmarks/cuda/crumbs.sh [FOLDER] [options of crumbs.py]      FOLDER: where results go [$OUT, or benchmarks/results]
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-${OUT:-benchmarks/results}/crumbs}; [ $# -gt 0 ] && shift
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin PYTHONPATH=$PWD/src:$PWD/build/site GPUDX_LIB=$work/libgpudx.so
python3 tools/generate.py schema "$work/gen" || exit 1
cc -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Inative -I"$work/gen" -shared -Wl,-z,nodelete,-z,now \
    -o "$GPUDX_LIB" $(ls native/{opencl,core,driver,cuda,hip,nccl}/*.c | grep -v symbols.c) \
    "$work"/gen/{gdx_schema,cl_wrappers,cu_wrappers,hip_wrappers}.c -ldl -lpthread || exit 1
python3 benchmarks/cuda/crumbs.py "$folder" "$@"
status=$?
rm -rf "$folder/work"
exit $status
