"""Launches through ctypes, standard library only: a function loaded by CDLL is called without the interpreter's lock, one
loaded by PyDLL with it. usage: launches.py held|free|both [LAUNCHES]"""

import ctypes
import sys
import threading


class Driver:
    """One context, module and kernel of the driver."""

    def __init__(self, load) -> None:
        self.library = load("libcuda.so.1")
        context, module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.cuInit(0))
        self.check(self.library.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
        self.check(self.library.cuModuleLoadData(ctypes.byref(module), b"kernel pair 4 4\n"))
        self.check(self.library.cuModuleGetFunction(ctypes.byref(self.kernel), module, b"pair"))

    def check(self, status: int) -> None:
        if status:
            print("status", status)

    def launch(self, first: int) -> None:
        values = [ctypes.c_int(first), ctypes.c_int(2 * first)]
        params = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))
        self.check(self.library.cuLaunchKernel(self.kernel, 1, 1, 1, 1, 1, 1, 0, None, params, None))  # launch line


def step(driver: Driver, count: int) -> None:
    for i in range(count):
        driver.launch(i)  # own line


def compute(over: threading.Event) -> None:
    while not over.is_set():
        pass


def both(count: int) -> None:
    """Two threads, one of which keeps the interpreter's lock in its launches; a third only computes."""
    over = threading.Event()
    busy = threading.Thread(target=compute, args=(over,))
    threads = [threading.Thread(target=step, args=(Driver(load), count)) for load in (ctypes.CDLL, ctypes.PyDLL)]
    busy.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    busy.join()


if __name__ == "__main__":
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if sys.argv[1] == "both":
        both(many)
    else:
        step(Driver(ctypes.PyDLL if sys.argv[1] == "held" else ctypes.CDLL), many)
    print("done")
