"""The program's own file, kept aside while another one stands in its place.

The file is renamed to NAME.gpudx-original beside it, and a copy takes its place, so that no build can write into it. It comes back
by one rename, whatever happens; after a crash of ours, or a power cut, at the start of the next investigation of this program. A
lock on it, which the kernel takes away when we die, tells a crash from another gpudx that is still at work.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from gpudx.errors import UserError
from gpudx.lab.experiments import NotReached

SUFFIX = ".gpudx-original"
PART = ".gpudx-part"


def put_back(name: str) -> bool:
    """What a crash left aside goes back into its place. True when there was something."""
    file = _place(name)
    aside = _beside(file, SUFFIX)
    try:
        with aside.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.replace(aside, file)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        raise UserError(f"Another gpudx works on {file} with --rebuild: wait until it has ended.") from None
    except OSError as error:
        raise UserError(f"{aside} is the program itself ({error.strerror}): move it back to {file}.") from None
    _beside(file, PART).unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def kept_aside(name: str) -> Iterator[Path]:
    """For a time the program's file may be changed; then the old one is there again. NotReached when that cannot be done."""
    file = _place(name)
    aside, part = _beside(file, SUFFIX), _beside(file, PART)
    try:
        original = file.open("rb")
    except OSError as error:
        raise NotReached(f"{file} cannot be read ({error.strerror})") from None
    with original, _same_link(Path(name)):
        _lock(original.fileno(), file, aside)
        try:
            _move_aside(file, aside, part)
            yield file
        finally:
            if aside.exists():
                os.replace(aside, file)
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced(name: str, other: Path) -> Iterator[None]:
    """For a time the program is another file."""
    with kept_aside(name) as file:
        part = _beside(file, PART)
        try:
            shutil.copy2(other, part)
            os.replace(part, file)
        except OSError as error:
            raise NotReached(f"{file} cannot be replaced ({error.strerror})") from None
        yield


def refuse_shared(name: str) -> None:
    """UserError for a program that others use too, such as an interpreter: it must not be away, not even for a moment."""
    file = _place(name)
    if file.parent in {Path(os.path.realpath(place)) for place in os.get_exec_path()}:
        raise UserError(
            f"--rebuild would replace {file}, which others use too: run a program of your own, as in ./app."
        )


def _lock(original: int, file: Path, aside: Path) -> None:
    """Before anything is moved: what lies aside now is another gpudx's, and stays its own."""
    with contextlib.suppress(OSError):
        fcntl.flock(original, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not aside.exists():
            return
    raise NotReached(f"another gpudx works on {file} with --rebuild")


def _move_aside(file: Path, aside: Path, part: Path) -> None:
    try:
        shutil.copy2(file, part)
        os.rename(file, aside)
        os.rename(part, file)
    except OSError as error:
        raise NotReached(f"{file} cannot be kept aside ({error.strerror})") from None


@contextlib.contextmanager
def _same_link(name: Path) -> Iterator[None]:
    """A build may put a file where a link to the program was: the link comes back."""
    leads_to = os.readlink(name) if name.is_symlink() else None
    try:
        yield
    finally:
        if leads_to is not None and not (name.is_symlink() and os.readlink(name) == leads_to):
            name.unlink(missing_ok=True)
            name.symlink_to(leads_to)


def _place(name: str) -> Path:
    """The file itself, behind links; also where it is not there at the moment."""
    return Path(os.path.realpath(name if "/" in name else shutil.which(name) or name))


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)
