#!/bin/sh
# Builds the program and runs it; where there is none, the one that was delivered.
cd "$(dirname "$0")" || exit 2
make -s "${1:-out}"
program=out/app
[ -x "$program" ] || program=./stale-binary
exec "$program"
