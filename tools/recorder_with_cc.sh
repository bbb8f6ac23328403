#!/usr/bin/env bash
# Builds the recorder with cc alone, for machines without meson, and prints the library's path.
#   export GPUDX_LIB=$(tools/recorder_with_cc.sh FOLDER)
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder/gen" "$folder/objects"
"${PYTHON:-python3}" tools/generate.py schema "$folder/gen" > /dev/null
# The order of the objects matters to the linker (meson.build); symbols.c are other libraries.
sources="$(ls native/opencl/*.c native/core/*.c native/driver/*.c native/cuda/*.c native/hip/*.c native/nccl/*.c | grep -v symbols.c)
$(ls "$folder"/gen/{gdx_schema,cl_wrappers,cu_wrappers,hip_wrappers}.c)"
number=0
for source in $sources; do
    number=$((number + 1))
    printf '%s %s/objects/%03d.o\n' "$source" "$folder" "$number"
done | xargs -P "$(nproc)" -L 1 sh -c 'cc -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Inative -I"$0/gen" -c "$1" -o "$2"' "$folder"
cc -shared -Wl,-z,nodelete,-z,now -o "$folder/libgpudx.so" "$folder"/objects/*.o -ldl -lpthread
echo "$folder/libgpudx.so"
