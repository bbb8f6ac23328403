"""Who ran, with what, as rows for `gpudx show CASE identity`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from gpudx.model import Identity, LoadedObject, SourceTree, Step

COLUMNS = ["what", "name", "version", "built", "sha256", "build_id", "said"]
Row = tuple[str, str, str, str, str, str, str]


def rows(identity: Identity) -> Iterator[Row]:
    """What was asked first, then what ran, then what was around it."""
    yield from (_row("probe", one.text, one.state, said=one.said) for one in identity.probes)
    yield from map(_object, identity.objects)
    yield from map(_tree, identity.trees)
    yield from map(_step, identity.steps)
    yield from (_row("interpreter", one) for one in identity.interpreters)
    yield from (
        _row("package", one.name, one.version, said="loaded" if one.loaded else "") for one in identity.packages
    )
    yield from (_row("driver", one.name, one.version, said=one.problem) for one in identity.drivers)
    yield from (
        _row("variable", f"{one.name}={one.value}", said=f"{one.meaning} ({one.source})") for one in identity.settings
    )
    yield from (_row("not known", "", said=one) for one in identity.unknown)


def _row(
    what: str, name: str, version: str = "", built: str = "", sha256: str = "", build_id: str = "", said: str = ""
) -> Row:
    return what, name, version, built, sha256, build_id, said


def when(seconds: float) -> str:
    """A time in UTC, "" where it is not known."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def _object(one: LoadedObject) -> Row:
    flags = one.built.compilers if one.built and one.built.compilers else one.compilers
    said = [
        one.unknown,
        f"device code for {', '.join(one.architectures)}" if one.architectures else "",
        f"built in: {one.dated}" if one.dated else "",
        "part of its repository" if one.committed else "",
        "; ".join(flags[:2]) if one.own else "",
    ]
    what = "executable" if one.executable else "object"
    return _row(
        what, one.path, one.revision, when(one.modified), one.sha256, one.build_id, ". ".join(filter(None, said))
    )


def _tree(tree: SourceTree) -> Row:
    state = {True: "with changes that are not committed", False: "clean", None: ""}[tree.dirty]
    return _row("source tree", tree.root, tree.head, when(tree.committed), said=tree.unknown or state)


def _step(step: Step) -> Row:
    ended = "its end was not seen" if step.status is None else f"ended with status {step.status}"
    return _row(
        "build step",
        step.tool,
        built=when(step.began),
        said=f"{ended}; {'compiled' if step.compiled else 'compiled nothing'}",
    )
