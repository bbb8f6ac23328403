"""Launches from awkward places. usage: tangled.py LIBRARY WHAT, where WHAT is a function below."""

import atexit
import ctypes
import gc
import os
import sys
import threading
import time

from launches import Driver

DRIVER = Driver(ctypes.CDLL)
FREE, HELD = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])  # without and with the interpreter's lock


def lock() -> None:
    """The launching thread has a lock that the holder of the interpreter's lock waits for."""
    status = []
    thread = threading.Thread(target=lambda: status.append(FREE.launch_with_lock(DRIVER.kernel)))
    thread.start()
    status.append(HELD.wait_for_lock())
    thread.join()
    time.sleep(0.5)  # whoever still waits for the interpreter's lock gets it now
    status.append(FREE.launch(DRIVER.kernel))  # and all is well again
    print(status)


def exception() -> None:
    """An exception is set during the launch."""
    try:
        print(HELD.launch_with_exception(DRIVER.kernel))
    except KeyError as error:
        print(error.args, error.__traceback__.tb_lineno > 0, error.__context__)


def handler() -> None:
    """A signal handler launches."""
    print(HELD.launch_in_handler(DRIVER.kernel))


def thread() -> None:
    """A thread that is not Python's launches."""
    print(FREE.launch_in_thread(DRIVER.kernel))


def errno() -> None:
    """The library checks that errno is what it was."""
    print(FREE.launch(DRIVER.kernel), HELD.launch(DRIVER.kernel))


class Last:
    def __del__(self) -> None:
        HELD.launch(DRIVER.kernel)
        FREE.launch(DRIVER.kernel)


def end() -> None:
    """Launches in exit handlers, while modules are taken down, and in a thread that outlives the interpreter."""
    sys.last = Last()
    atexit.register(lambda: print(FREE.launch(DRIVER.kernel)))
    threading.Thread(target=lambda: [FREE.launch(DRIVER.kernel) for _ in range(10**9)], daemon=True).start()


def fork() -> None:
    """A child launches, with the lock and without."""
    print(FREE.launch(DRIVER.kernel), flush=True)
    child = os.fork()
    if child == 0:
        print(FREE.launch(DRIVER.kernel), HELD.launch(DRIVER.kernel), flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1])


def collector() -> None:
    """Nothing is collected in the middle of a launch, and the collector is as it was."""
    seen = []
    inside = ctypes.c_int.in_dll(HELD, "inside")
    gc.callbacks.append(lambda phase, info: seen.append(inside.value))
    gc.set_threshold(1)
    deep()
    print(any(seen), gc.isenabled())
    gc.disable()
    deep()
    print(gc.isenabled())


def deep(levels: int = 100) -> None:
    """More frames than are kept."""
    if levels:
        deep(levels - 1)
    else:
        print(FREE.launch(DRIVER.kernel), HELD.launch(DRIVER.kernel))


if __name__ == "__main__":
    globals()[sys.argv[2]]()
