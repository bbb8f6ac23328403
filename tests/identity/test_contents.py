"""What a file says of itself is read once, and again when it is another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from identity_kit import EDITED, HELLO, Make

from gpudx.elf.image import Image
from gpudx.identity import contents, hashes
from gpudx.identity.places import is_own


def of(path: Path) -> contents.Content | None:
    return contents.content(str(path), hashes.key(path.stat()), True, "")


def test_the_same_file_is_read_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = make(HELLO)
    first = of(program)
    assert first and first.made and str(program.parent / "main.c") in first.made.sources
    monkeypatch.setattr(Image, "open", lambda path: pytest.fail("read again"))
    assert of(program) is first


def test_a_file_that_was_built_again_is_read_again(make: Make) -> None:
    first = of(make(HELLO))
    second = of(make(EDITED, "-g", "-O2"))
    assert first and second and first.build_id != second.build_id
    assert second.made and "-O2" in second.made.compilers[0]


@pytest.mark.parametrize(
    "path",
    [
        "/home/u/.pyenv/versions/3.11.7/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
        "/home/u/miniconda3/envs/train/bin/python3.12",
        "/home/u/.local/share/uv/python/cpython-3.13/lib/libpython3.13.so.1.0",
    ],
)
def test_an_interpreter_is_nobody_s_own(path: str) -> None:
    assert not is_own(path)


def test_programs_are(tmp_path: Path) -> None:
    assert is_own("/home/u/python3.11/app") and is_own("/home/u/build/libpythonic.so")


def test_libraries_of_an_environment_are_not_the_users(tmp_path: Path) -> None:
    """Wheels of vendors put them into lib/ itself; a build folder beside the environment stays the user's."""
    for name in ("pyvenv.cfg", "conda-meta"):
        environment = tmp_path / "project" / f"env-{name}"
        (environment / "lib/deep").mkdir(parents=True)
        (environment / name).touch()
        assert not is_own(str(environment / "lib/libvendor.so")) and not is_own(str(environment / "lib/deep/libvendor.so"))
    assert is_own(str(tmp_path / "project/build/libmine.so"))
