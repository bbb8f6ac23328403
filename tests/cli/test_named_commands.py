"""Commands of gpudx that pages, help and messages name exist, with the options that they are shown with."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gpudx.cli import make_app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.yml"),
    *(ROOT / "incidents").glob("*/README.md"),
]
QUOTED = re.compile(r"`(?:[A-Z_]+=\S+ )?(gpudx [^`]+)`")
ON_A_LINE = re.compile(r"^\s*(?:\$ |- run: |- )?(gpudx [a-z].*)$", re.MULTILINE)  # or a sentence about gpudx
END = re.compile(r"\s--(?:\s|$)|\s[|&>#]|;|   ")  # of the words of gpudx itself
OPTION = re.compile(r"--?[a-z][\w-]*")
COMMANDS = make_app().commands
ALONE = re.compile(r"`(--[a-z][\w-]*)[^`]*`")
EVERYWHERE = {"-h", "--help"}
OTHERS = ("--gpudx", "--test-threads", "--token")  # of pytest, of cargo, and of any program
NO_COMMANDS = {"COMMAND", "--version", *EVERYWHERE}


def words(command: str) -> list[str]:
    """Those before the program that it runs."""
    text = " ".join(command.split())
    try:
        return shlex.split(END.split(text)[0], comments=True)[1:]
    except ValueError:  # a quotation mark of the sentence around it
        return END.split(text)[0].split()[1:]


def wrong(text: str) -> Iterator[str]:
    """What cannot be pasted: no such command, or no such option of it."""
    quoted = QUOTED.findall(text)
    for command in (*quoted, *ON_A_LINE.findall(text)):
        name, *rest = words(command) or [""]
        if name in COMMANDS:
            options = {word for one in COMMANDS[name].params if isinstance(one, click.Option) for word in one.opts}
            asked = {found[0] for word in rest if (found := OPTION.match(word))}
            yield from (f"{command}: {one}" for one in sorted(asked - options - EVERYWHERE))
        elif command in quoted and name not in NO_COMMANDS:
            yield command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert list(wrong(text)) == []
    every = {word for one in COMMANDS.values() for option in one.params if isinstance(option, click.Option) for word in option.opts}
    about_gpudx = page.parts[-3:-2] != ("incidents",)  # these are about their own programs
    assert [one for one in ALONE.findall(text) if about_gpudx and one not in every and not one.startswith(OTHERS)] == []


def test_messages_and_help() -> None:
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src/gpudx").rglob("*.py")}
    strings = (
        (path, node.value)
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert [f"{path}: {one}" for path, text in strings for one in wrong(text)] == []


@pytest.mark.parametrize(
    "text", ["see `gpudx run --fences -- ./app`", "see `gpudx runs -- ./app`", "```\ngpudx diff --what a b\n```"]
)
def test_mistakes_are_found(text: str) -> None:
    assert len(list(wrong(text))) == 1


@pytest.mark.parametrize(
    "text",
    ["`gpudx run --fence=low -- ./app --what`", "gpudx finds models", "`gpudx bisect --build 'make -j4' --good a`"],
)
def test_others_are_not(text: str) -> None:
    assert list(wrong(text)) == []
