"""Plays a capsule through the CUDA driver: python -m gpudx.backends.cuda.player CAPSULE FOLDER [options]."""

from __future__ import annotations

import sys
from ctypes import byref, c_int, c_void_p

from gpudx.backends import driver_player
from gpudx.capsule import playing

# cuda.h
DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
USUAL_SHARED = 48 << 10


class Player(driver_player.Player):
    names = driver_player.Names(
        api="CUDA",
        vendor="NVIDIA CUDA",
        missing="there is no CUDA driver (libcuda.so.1) here",
        libraries=("libcuda.so.1",),
        codes=("cubin", "fatbin", "ptx"),
        init="cuInit",
        device_count="cuDeviceGetCount",
        device_name="cuDeviceGetName",
        version="cuDriverGetVersion",
        load="cuModuleLoadData",
        get_function="cuModuleGetFunction",
        get_global="cuModuleGetGlobal_v2",
        granularity="cuMemGetAllocationGranularity",
        reserve="cuMemAddressReserve",
        unreserve="cuMemAddressFree",
        create="cuMemCreate",
        map="cuMemMap",
        set_access="cuMemSetAccess",
        allocate="cuMemAlloc_v2",
        to_device="cuMemcpyHtoD_v2",
        to_host="cuMemcpyDtoH_v2",
        launch="cuLaunchKernel",
        synchronise="cuCtxSynchronize",
    )

    def use_device(self) -> None:
        context = c_void_p()
        self.must("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self.must("cuCtxSetCurrent", context)

    def version_text(self, version: int) -> str:
        return f"CUDA {version // 1000}.{version % 1000 // 10}"

    def prepare(self, function: c_void_p, shared: int) -> None:
        if shared > USUAL_SHARED:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, c_int(shared))


if __name__ == "__main__":
    sys.exit(playing.main(None, Player.of))
