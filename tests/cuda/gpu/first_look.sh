#!/usr/bin/env bash
# The first look at the CUDA hooks on a machine with a GPU: builds the recorder and the small programs, runs each plain
# and recorded, and prints a table. Needs nvcc, cc, python3 (3.11 or later); no network. Under 3 minutes.
#
#   tests/cuda/gpu/first_look.sh [WORK_FOLDER]
set -u
cd "$(dirname "$0")/../../.." || exit 1
here=tests/cuda/gpu
work=${1:-$(mktemp -d)}
mkdir -p "$work/bin" "$work/traces"
command -v nvcc > /dev/null || PATH=$PATH:/usr/local/cuda/bin
began=$(date +%s)

echo "== machine"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -2
nvcc --version | tail -2 | head -1
ldd --version | head -1
driver=$(ldconfig -p | awk '/libcuda\.so\.1 / { print $NF; exit }')
[ -n "$driver" ] && echo "driver $driver, flags: $(readelf -d "$driver" | grep -oiE 'symbolic|nodelete' | sort -u | tr '\n' ' ')"

echo "== recorder"
python3 tools/generate.py schema "$work/gen" || exit 1
cc -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Inative -I"$work/gen" -shared -Wl,-z,nodelete,-z,now \
    -o "$work/libgpudx.so" $(find native -name '*.c' ! -name symbols.c) \
    "$work"/gen/{gdx_schema,cl_wrappers,cu_wrappers,hip_wrappers}.c -ldl -lpthread || exit 1
python3 $here/probe_entries.py

echo "== programs"
arch=${ARCH:-sm_90}
for source in $here/*.cu; do
    name=$(basename "$source" .cu)
    echo "nvcc -arch=$arch -lineinfo -o $work/bin/$name $source"
done > "$work/builds"
echo "nvcc -arch=$arch --cudart shared -o $work/bin/vector_add_shared $here/vector_add.cu" >> "$work/builds"
per_thread="--default-stream per-thread -o $work/bin/vector_add_per_thread"
echo "nvcc -arch=$arch $per_thread $here/vector_add.cu" >> "$work/builds"
echo "nvcc -gencode arch=compute_75,code=sm_75 -o $work/bin/vector_add_sm75 $here/vector_add.cu" >> "$work/builds"
echo "nvcc -x cu -o $work/bin/ptx_driver $here/ptx_driver.c -l:libcuda.so.1" >> "$work/builds"
xargs -P "$(nproc)" -I{} sh -c '{} || echo "NOT BUILT: {}"' < "$work/builds"
echo "built after $(($(date +%s) - began)) s"

limit() { case $1 in infinite_loop) echo 4 ;; *) echo 20 ;; esac; }
run() {  # name, plain|recorded, command...
    local name=$1 how=$2; shift 2
    if [ "$how" = recorded ]; then
        rm -rf "$work/traces/$name"; mkdir "$work/traces/$name"
        GPUDX_DIR=$work/traces/$name LD_PRELOAD=$work/libgpudx.so timeout -s KILL "$(limit "$name")" "$@"
    else
        timeout -s KILL "$(limit "$name")" "$@"
    fi > "$work/$name.$how.out" 2> "$work/$name.$how.err"
}

echo "== plain against recorded"
printf '%-22s %5s %5s %-5s %s\n' program plain rec. same trace
for binary in "$work"/bin/*; do
    name=$(basename "$binary")
    [ "$name" = launch_loop ] && continue
    run "$name" plain "$binary"; plain=$?
    run "$name" recorded "$binary"; recorded=$?
    same=NO
    cmp -s "$work/$name.plain.out" "$work/$name.recorded.out" && [ $plain = $recorded ] && same=yes
    told=$(python3 $here/summary.py "$work/traces/$name" | tail -1)
    printf '%-22s %5s %5s %-5s %s\n' "$name" $plain $recorded $same "$told"
    [ $same = NO ] && diff "$work/$name.plain.out" "$work/$name.recorded.out" | head -5
    [ -s "$work/$name.recorded.err" ] && [ ! -s "$work/$name.plain.err" ] && head -3 "$work/$name.recorded.err"
done

echo "== cost of a launch (ns), three rounds: plain, recorded, CUDA_LAUNCH_BLOCKING"
for round in 1 2 3; do
    run launch_loop plain "$work/bin/launch_loop"; a=$(grep -o '[0-9]*$' "$work/launch_loop.plain.err")
    run launch_loop recorded "$work/bin/launch_loop"; b=$(grep -o '[0-9]*$' "$work/launch_loop.recorded.err")
    CUDA_LAUNCH_BLOCKING=1 run launch_loop plain "$work/bin/launch_loop" 10
    c=$(grep -o '[0-9]*$' "$work/launch_loop.plain.err")
    echo "$a $b $c  ratio $(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", a ? b / a : 0 }')"
done
python3 $here/summary.py "$work/traces/launch_loop"

echo "== with other tools"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
if [ -n "$sanitizer" ]; then
    run illegal_access_memcheck recorded "$sanitizer" "$work/bin/illegal_access"
    code=$? named=$(grep -c 'Invalid __global__' "$work/illegal_access_memcheck.recorded.out")
    echo "compute-sanitizer with the recorder: exit $code, $named faults named"
    python3 $here/summary.py "$work/traces/illegal_access_memcheck" | tail -1
fi
cat > "$work/by_ctypes.py" << 'EOF'
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
print(cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
      cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1000)), cuda.cuMemFree_v2(memory))
EOF
run by_ctypes recorded python3 "$work/by_ctypes.py"
echo "ctypes: $(cat "$work/by_ctypes.recorded.out") $(python3 $here/summary.py "$work/traces/by_ctypes" | tail -1)"
for module in torch cupy; do
    python3 -c "import $module" 2> /dev/null || { echo "$module is not installed"; continue; }
    [ $module = torch ] && code='import torch; a = torch.ones(1000, device="cuda"); print(float((a @ a).cpu()))'
    [ $module = cupy ] && code='import cupy; print(float(cupy.ones(1000).sum()))'
    run $module plain python3 -c "$code"; plain=$?
    run $module recorded python3 -c "$code"
    echo "$module: exit $plain and $?, $(cmp "$work/$module.plain.out" "$work/$module.recorded.out" && echo same output)"
    python3 $here/summary.py "$work/traces/$module" | tail -1
done
echo "== calls of vector_add"
python3 $here/summary.py "$work/traces/vector_add" --calls | tail -n +2 | cut -c1-180 | head -40
echo "took $(($(date +%s) - began)) s; everything is in $work"
