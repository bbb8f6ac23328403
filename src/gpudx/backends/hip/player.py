"""Plays a capsule through a HIP runtime: python -m gpudx.backends.hip.player CAPSULE FOLDER [options]."""

from __future__ import annotations

import sys
from ctypes import byref, c_int

from gpudx.backends import driver_player
from gpudx.backends.hip.probe_runtime import FIRST_VERSION, MAPPINGS_SUPPORTED, found
from gpudx.capsule import playing


class Player(driver_player.Player):
    names = driver_player.Names(
        api="HIP",
        vendor="",
        missing="there is no HIP runtime (libamdhip64) here",
        libraries=tuple(found()),
        codes=("code object",),
        init="hipInit",
        device_count="hipGetDeviceCount",
        device_name="hipDeviceGetName",
        version="hipRuntimeGetVersion",
        load="hipModuleLoadData",
        get_function="hipModuleGetFunction",
        get_global="hipModuleGetGlobal",
        granularity="hipMemGetAllocationGranularity",
        reserve="hipMemAddressReserve",
        unreserve="hipMemAddressFree",
        create="hipMemCreate",
        map="hipMemMap",
        set_access="hipMemSetAccess",
        allocate="hipMalloc",
        to_device="hipMemcpyHtoD",
        to_host="hipMemcpyDtoH",
        launch="hipModuleLaunchKernel",
        synchronise="hipDeviceSynchronize",
    )

    def use_device(self) -> None:
        self.must("hipSetDevice", self.device)

    def version_text(self, version: int) -> str:
        return f"HIP {version // 10000000}.{version // 100000 % 100}"

    def why_unmapped(self) -> str:
        """As native/hip/fence_map.c decides it: before HIP 6 the structures were others, and the calls were experiments."""
        version, able = c_int(), c_int()
        self.call(self.names.version, byref(version))
        there = all(hasattr(self.driver, name) for name in self.names.mapping)
        if version.value < FIRST_VERSION or not there:
            return "memory can be mapped at its old address since HIP 6"
        unknown = self.call("hipDeviceGetAttribute", byref(able), MAPPINGS_SUPPORTED, self.device)
        return "" if able.value and not unknown else "this device has no virtual memory management"


if __name__ == "__main__":
    sys.exit(playing.main(None, Player.of))
