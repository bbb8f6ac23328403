"""The process that rewrites kernels while a program runs, or says what their symbols mean:

    python -m gpudx.lab.rewriting_service opencl|ptx|types SOCKET FOLDER CHECKS [KERNEL]

One answer per connection, each made in a process of its own: a source that crashes libclang, or takes too long, costs that
program its checks and nothing else. The protocol is the one of native/core/asking.h.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from gpudx.kernel_checks.errors import LEFT_OUT, Unsupported
from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.plan import PROGRAMS
from gpudx.kernel_checks.preprocess import as_numbered
from gpudx.kernel_checks.rewriting import rewrite

SECONDS = 25
LARGEST = 16 << 20


def main(arguments: list[str]) -> int:
    language, path, folder, checks = arguments[0], arguments[1], Path(arguments[2]), frozenset(arguments[3].split(","))
    kernel = arguments[4] if len(arguments) > 4 else ""
    (folder / PROGRAMS).mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the program's
    listener = listening(path)
    warm(language)
    number = 0
    parent = os.getppid()
    listener.settimeout(1)
    while os.getppid() == parent:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        number += 1
        child = os.fork()
        if child == 0:
            listener.close()
            serve(connection, partial(ANSWERS[language], number=number, folder=folder, checks=checks, kernel=kernel))
            os._exit(0)
        connection.close()
    return 0


def listening(path: str) -> socket.socket:
    """Whoever sees the path may ask: it is there only once questions are heard."""
    listener, made = socket.socket(socket.AF_UNIX), f"{path[:-1]}~"  # no longer than the path: there is little room for it
    listener.bind(made)
    listener.listen(64)
    os.rename(made, path)
    return listener


def warm(language: str) -> None:
    """Loads libclang, or what reads images, before the first question. The program waits for this process, so that it begins with
    no more than it needs."""
    if language == "ptx":
        import gpudx.evidence.code_objects
        import gpudx.ptx_checks.rewrite  # noqa: F401

        return
    if language == "types":
        return
    with contextlib.suppress(Unsupported):
        rewrite("__kernel void k(__global float *a) { a[get_global_id(0)] = 0; }\n", "", Device())


def serve(connection: socket.socket, answer_to: Callable[[bytes], bytes]) -> None:
    signal.alarm(SECONDS)
    connection.settimeout(SECONDS)
    with connection:
        try:
            answer = answer_to(receive(connection))
        except Unsupported as error:
            answer = f"no {error}".replace("\n", " ").encode(errors="replace")[:380]
        except RecursionError:
            answer = b"no it is nested too deeply"
        except Exception as error:  # a bug of ours costs the program its checks, nothing else
            answer = f"no gpudx failed on it ({type(error).__name__}: {error})".replace("\n", " ").encode(
                errors="replace"
            )[:380]
        connection.sendall(struct.pack("=I", len(answer)) + answer)


def receive(connection: socket.socket) -> bytes:
    (size,) = struct.unpack("=I", exactly(connection, 4))
    if size > LARGEST:
        raise Unsupported("it is too long")
    return exactly(connection, size)


def exactly(connection: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise Unsupported("the question was cut off")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def reply(question: bytes, number: int, folder: Path, checks: frozenset[str], kernel: str) -> bytes:
    given, c_version, version, vendor, extensions, bits, where, source = (
        part.decode("utf-8", "surrogateescape") for part in question.split(b"\0", 7)
    )
    sys.setrecursionlimit(20_000)
    device = Device(c_version, version, vendor, extensions, int(bits or 64), where)
    done = rewrite(source, given, device, checks)
    plans = [plan for plan in done.rewritten.kernels if wanted(plan.name, kernel)]
    plans += [plan.light for plan in plans if plan.light]
    if not plans:
        raise Unsupported(LEFT_OUT if kernel else "it has no kernels")
    about = {
        "sites": [asdict(site) for site in done.rewritten.sites],
        "things": [asdict(thing) for thing in done.rewritten.things],
        "kernels": [asdict(plan) for plan in done.rewritten.kernels],
        "checks": sorted(done.checks),
        "source": as_numbered(source),
    }
    (folder / PROGRAMS / f"{number}.json").write_text(json.dumps(about))
    text = done.rewritten.text.encode("utf-8", "surrogateescape")
    (folder / PROGRAMS / f"{number}.cl").write_bytes(text)  # for people who wonder what was compiled
    lines = [f"ok {number} {len(done.rewritten.sites)}", f"options {done.options}"]
    lines += [" ".join(["kernel", plan.name, str(plan.arguments), *plan.extra]) for plan in plans]
    lines += [f"proof {plan.name} " + ",".join(plan.proof) for plan in plans if plan.proof]
    return ("\n".join(lines) + "\n").encode() + b"\0" + text


def ptx_reply(question: bytes, number: int, folder: Path, checks: frozenset[str], kernel: str) -> bytes:
    """The newest PTX of an image with checks in it. `kernel` narrows nothing: a module is rewritten whole."""
    from gpudx.evidence.code_objects import ptx_texts
    from gpudx.ptx_checks.rewrite import rewrite as rewrite_ptx

    del kernel
    texts = sorted(ptx_texts(memoryview(question)), key=lambda one: one[0].architecture)
    if not texts:
        raise Unsupported("no PTX is embedded in it")
    done = rewrite_ptx(texts[-1][1], checks)
    if done is None:
        raise Unsupported("nothing in it is to be checked")
    about = {
        "sites": [asdict(site) for site in done.sites],
        "things": [],
        "kernels": [{"name": name} for name in done.kernels],
        "uses_heap": done.uses_heap,
    }
    (folder / PROGRAMS / f"{number}.json").write_text(json.dumps({**about, "checks": sorted(checks)}))
    (folder / PROGRAMS / f"{number}.ptx").write_text(done.text)  # for people who wonder what was compiled
    return f"ok {number} {len(done.sites)} {(*done.kernels, '')[0]}".encode() + b"\0" + done.text.encode()


def types_reply(question: bytes, number: int, folder: Path, checks: frozenset[str], kernel: str) -> bytes:
    """Which parameters of a kernel lead to floating-point numbers."""
    from gpudx.backends.cuda.nan_types import letters

    del number, folder, checks, kernel
    kinds, modes = letters(question.decode("utf-8", "surrogateescape"))
    return f"ok {kinds}".encode() + b"\0" + modes.encode() + b"\0"


ANSWERS = {"opencl": reply, "ptx": ptx_reply, "types": types_reply}


def wanted(name: str, pattern: str) -> bool:
    if pattern.startswith("regex:"):
        return re.search(pattern.removeprefix("regex:"), name) is not None
    return not pattern or pattern == name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
