"""Functions of the CUDA runtime, by the function of the driver that each of them calls (CUDA Runtime API and Driver API references).

Programs that are written for the runtime are told its names: their authors never wrote the driver's.
"""

from __future__ import annotations

import re

NAMES = {
    "cuMemAlloc": "cudaMalloc",
    "cuMemAllocPitch": "cudaMallocPitch",
    "cuMemAllocManaged": "cudaMallocManaged",
    "cuMemAllocAsync": "cudaMallocAsync",
    "cuMemAllocFromPoolAsync": "cudaMallocFromPoolAsync",
    "cuMemHostAlloc": "cudaHostAlloc",
    "cuMemAllocHost": "cudaMallocHost",
    "cuMemHostRegister": "cudaHostRegister",
    "cuMemHostUnregister": "cudaHostUnregister",
    "cuMemHostGetDevicePointer": "cudaHostGetDevicePointer",
    "cuMemFree": "cudaFree",
    "cuMemFreeAsync": "cudaFreeAsync",
    "cuMemFreeHost": "cudaFreeHost",
    "cuMemPrefetchAsync": "cudaMemPrefetchAsync",
    "cuStreamCreate": "cudaStreamCreate",
    "cuStreamCreateWithPriority": "cudaStreamCreateWithPriority",
    "cuStreamDestroy": "cudaStreamDestroy",
    "cuStreamSynchronize": "cudaStreamSynchronize",
    "cuStreamWaitEvent": "cudaStreamWaitEvent",
    "cuStreamQuery": "cudaStreamQuery",
    "cuStreamBeginCapture": "cudaStreamBeginCapture",
    "cuStreamEndCapture": "cudaStreamEndCapture",
    "cuStreamAddCallback": "cudaStreamAddCallback",
    "cuEventCreate": "cudaEventCreate",
    "cuEventRecord": "cudaEventRecord",
    "cuEventSynchronize": "cudaEventSynchronize",
    "cuEventQuery": "cudaEventQuery",
    "cuEventElapsedTime": "cudaEventElapsedTime",
    "cuEventDestroy": "cudaEventDestroy",
    "cuCtxSynchronize": "cudaDeviceSynchronize",
    "cuLaunchKernel": "cudaLaunchKernel",
    "cuLaunchKernelEx": "cudaLaunchKernelExC",
    "cuLaunchCooperativeKernel": "cudaLaunchCooperativeKernel",
    "cuLaunchHostFunc": "cudaLaunchHostFunc",
    "cuGraphInstantiate": "cudaGraphInstantiate",
    "cuGraphInstantiateWithFlags": "cudaGraphInstantiateWithFlags",
    "cuGraphLaunch": "cudaGraphLaunch",
    "cuGraphExecDestroy": "cudaGraphExecDestroy",
    "cuGraphDestroy": "cudaGraphDestroy",
}
FUNCTION = re.compile(r"\b(cu(?:Mem|Stream|Event|Ctx|Launch|Graph)\w*?)(?:_v\d+)?(?:_ptsz|_ptds)?\b")
COPY = re.compile(r"cuMemcpy(?:HtoD|DtoH|DtoD|2D|2DUnaligned|3D|Peer)?(Async)?")
FILL = re.compile(r"cuMemsetD\d+(Async)?")
OF_RUNTIME = re.compile(r"\blibcudart")
# Frames of a launch: the function that nvcc makes of each kernel for the host, and the runtime's own.
LAUNCH = re.compile(r"(?:__device_stub__|cudaLaunch(?:Cooperative)?Kernel)")


def told(text: str) -> str:
    """The text with the runtime's names in place of the driver's, where it has one."""
    return FUNCTION.sub(lambda found: _name(found[1]) or found[0], text)


def is_launch(frame: str) -> bool:
    """Is it a frame of the host's stack from which a kernel is launched?"""
    return LAUNCH.match(frame) is not None


def _name(function: str) -> str | None:
    if copy := COPY.fullmatch(function):
        shape = next((one for one in ("2D", "3D", "Peer") if one in function), "")
        return f"cudaMemcpy{shape}{copy[1] or ''}"
    if fill := FILL.fullmatch(function):
        return f"cudaMemset{fill[1] or ''}"
    return NAMES.get(function)
