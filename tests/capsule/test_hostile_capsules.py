"""Files that a stranger may have changed: each is read or refused in one sentence, in bounded time and memory (GPUDX_SLOW=1: 10,000)."""

from __future__ import annotations

import json
import random
import resource
import time
import zipfile
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.opencl import OpenCL
from support.simulated import SLOW
from test_capsule_file import sample
from test_capsules import gpudx_

from gpudx.capsule import file
from gpudx.capsule.model import Argument, Buffer, Capsule, Code, Geometry
from gpudx.cli.replay import describe
from gpudx.errors import UserError

ROUND = 1_000
MOST_MEMORY = 64 << 20  # of one capsule
MOST_GROWTH = 512 << 20  # of the process, over all of them
SLOWEST_S = 20.0  # on a machine that does other work
VALUES: tuple[Any, ...] = (
    -1, 0, 1, 7, 4096, 1 << 31, (1 << 31) - 1, 1 << 47, 1 << 62, 1 << 64, 10**400, 1.5, float("nan"), float("-inf"), None, True, False,
    "", "x" * 70_000, "\0", "\ud800", "\x1b[2J", "../../etc/passwd", "kernel", "opencl", "cuda", "buffer", "svm", "local",
    [], {}, [[]], [{}] * 5_000, [[0, 1 << 50]], [[0, 8]] * 3, {"a": {}},
)  # fmt: skip


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    inside = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [found for key, value in inside for found in ((node, key), *places(value))]


def other_manifest(chance: random.Random, manifest: Any) -> None:
    for _ in range(chance.randint(1, 3)):
        container, key = chance.choice(places(manifest))
        if chance.random() < 0.15:
            del container[key]
        elif isinstance(container, list) and chance.random() < 0.2:
            container.append(deepcopy(container[key]))
        else:
            container[key] = deepcopy(chance.choice(VALUES))


def other_entries(chance: random.Random, entries: dict[str, bytes]) -> None:
    name = chance.choice(sorted(entries))
    how = chance.randrange(4)
    if how == 0:
        del entries[name]
    elif how == 1:
        entries[name] = entries[name][: chance.randint(0, len(entries[name]))]
    elif how == 2:
        entries[name] += b"\0" * chance.choice((1, 4096, 1 << 20))
    else:
        entries[chance.choice(("../x", "/etc/passwd", "data/9.before", "code/cubin", "x"))] = entries.pop(name)


def other_bytes(chance: random.Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data))
        how = chance.randrange(4)
        if how == 0:
            data[at] = chance.randrange(256)
        elif how == 1:
            data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x80"))
        elif how == 2:
            data[at:at] = data[at : at + chance.randint(1, 64)]
        else:
            del data[at : at + chance.randint(1, 64)]
    return bytes(data)


def written(chance: random.Random, path: Path, entries: dict[str, bytes], whole: bytes) -> None:
    """One changed file."""
    how = chance.randrange(3)
    if how == 0:
        path.write_bytes(other_bytes(chance, whole))
        return
    entries = dict(entries)
    if how == 1:
        manifest = json.loads(entries[file.MANIFEST])
        other_manifest(chance, manifest)
        entries[file.MANIFEST] = json.dumps(manifest).encode()
    else:
        other_entries(chance, entries)
    method = chance.choice((zipfile.ZIP_DEFLATED,) * 6 + (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(path, "w", method) as new:
        for name, data in entries.items():
            new.writestr(name, data)
    if chance.random() < 0.2:
        path.write_bytes(other_bytes(chance, path.read_bytes()))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("seed", range(10 if SLOW else 1))
def test_changed_files_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.gpucapsule"
    file.write(sample(20_000), path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    before, refused = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    for number in range(ROUND):
        chance = random.Random(seed * ROUND + number)
        written(chance, path, entries, whole)
        begin = time.process_time()
        try:
            read = file.read(path, MOST_MEMORY)
            "\n".join(describe(read, path)).encode()  # what is read can be shown
            file.to_bytes(read)
        except UserError as error:
            refused += 1
            said = str(error)
            assert "\n" not in said and "\x1b" not in said and len(said.encode()) < 400, (seed, number, said)
        except Exception as error:
            raise AssertionError(f"seed {seed}, file {number}: {error!r}") from error
        assert time.process_time() - begin < SLOWEST_S, (seed, number)
    assert ROUND // 2 < refused < ROUND, "most of them are wrong, and some changes change nothing"
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MOST_GROWTH


def plain() -> Capsule:
    source = b"kernel void set(global int *x, int n, local int *t) { x[get_global_id(0)] = n; }"
    arguments = (
        Argument(0, "buffer", buffer=0, type="int*"),
        Argument(1, "value", value=b"\1\0\0\0", type="int"),
        Argument(2, "local", size=64),
    )
    content = np.zeros(256, dtype=np.uint8)
    return Capsule("opencl", "set", 1, (Code("source", source),), Geometry((64,), (8,)), arguments, (Buffer(0, 256, 1, before=content),))


def argument(number: int, **changes: Any) -> Capsule:
    given = plain()
    return replace(given, arguments=tuple(replace(a, **changes) if a.index == number else a for a in given.arguments))


@pytest.mark.parametrize(
    "made",
    [
        replace(plain(), options="-D 'a"),
        replace(plain(), options="-include /etc/passwd -cl-std=CL9.9"),
        replace(plain(), kernel="other"),
        replace(plain(), codes=(Code("binary", b"\x7fELF"),)),
        replace(plain(), codes=(Code("ptx", b".version 9.0"),)),
        replace(plain(), codes=(Code("source", b"kernel void set("),)),
        replace(plain(), geometry=Geometry((64,), (1 << 40,))),
        replace(plain(), arguments=plain().arguments[:1]),
        argument(1, value=b"1" * 30_000),
        argument(2, size=1 << 32),
        argument(0, kind="svm", buffer=0),
        replace(plain(), buffers=(replace(plain().buffers[0], svm=True, address=(1 << 64) - 4096),)),
        replace(plain(), api="cuda", buffers=(replace(plain().buffers[0], address=(1 << 64) - 1),)),
    ],
    ids=lambda made: "",
)
def test_a_hostile_launch_ends_in_one_sentence(opencl: OpenCL, tmp_path: Path, made: Capsule) -> None:
    path = tmp_path / "a.gpucapsule"
    file.write(made, path)
    done = gpudx_(opencl, "replay", path)
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
    if done.returncode == 2:
        assert done.stderr.count("\n") == 1 and "the player ended with status" not in done.stderr, done.stderr
