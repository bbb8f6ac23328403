#!/usr/bin/env bash
# Breadcrumbs on a machine with a GPU and without network: builds the recorder with cc, then measures (crumbs.py).
#
#   benchmarks/cuda/crumbs.sh [FOLDER] [options of crumbs.py]      FOLDER: where results go [$OUT, or benchmarks/results]
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-${OUT:-benchmarks/results}/crumbs}; [ $# -gt 0 ] && shift
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin PYTHONPATH=$PWD/src:$PWD/build/site
GPUDX_LIB=$(tools/recorder_with_cc.sh "$work") || exit 1
export GPUDX_LIB
python3 benchmarks/cuda/crumbs.py "$folder" "$@"
status=$?
rm -rf "$work"
exit $status
