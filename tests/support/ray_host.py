"""A real Ray cluster on loopback for tests: it belongs to a process of the test, takes only the test's own token, and ends with it."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

# 127.0.0.2, because Ray takes 127.0.0.1 for "the address that others see". It listens on all addresses all the same, and runs
# what anybody sends: so it asks for a token, which is made here, lest Ray leave one in the home directory.
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
ONE_NODE = """
import sys, ray
ray.init(address="local", num_cpus=2, num_gpus={gpus}, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
         object_store_memory=80 << 20, _node_ip_address="127.0.0.2", _temp_dir=sys.argv[1])
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
ray.shutdown()
"""


def one_node(gpus: int) -> str:
    """One node with two CPUs, which is told that it has GPUs."""
    return ONE_NODE.format(gpus=gpus)


@contextlib.contextmanager
def hosted(script: str, environment: dict[str, str], place: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A cluster in a process of its own, its address, and that process. `place` is short: the names of sockets have 107 bytes at
    most (unix(7))."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'gpudx[ray]'")
    host = subprocess.Popen(
        [sys.executable, "-c", script, str(place)], env=environment, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert host.stdin and host.stdout
    address = host.stdout.readline().strip()
    below = psutil.Process(host.pid).children(recursive=True)
    try:
        if not address:
            pytest.skip("no Ray cluster can be started here")
        yield address, host
    finally:
        host.stdin.close()
        try:
            host.wait(30)
        except subprocess.TimeoutExpired:
            host.kill()
        for one in psutil.wait_procs(below, timeout=10)[1]:
            one.kill()
