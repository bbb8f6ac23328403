"""Every command says what it does, with an example that begins as one would type it, and its exit statuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import in_process

from gpudx.cli import commands
from gpudx.cli.report import command as report
from gpudx.report import formats, streamed

NAMES = sorted(commands())


def help_of(*name: str) -> str:
    return in_process((*name, "--help"), Path.cwd(), os.environ).stdout


@pytest.mark.parametrize("name", [pytest.param((), id="gpudx"), *((name,) for name in NAMES)])
def test_help(name: tuple[str, ...]) -> None:
    text = help_of(*name)
    examples = [line.strip() for line in text.splitlines() if f"{' '.join(('gpudx', *name))}" in line]
    assert len([line for line in examples if not line.startswith("Usage:")]) >= 1, "an example"
    assert "Exit status:" in text
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert not re.search(r"\w-$|--$|`[^`\n]*\n[^`\n]*`", text, re.MULTILINE), "an option or a command in two lines"


def test_all_commands_are_files() -> None:
    assert {"run", "report", "cases", "bundle", "open", "completion", "show"} <= set(NAMES)
    folder = Path(report.__code__.co_filename).parent
    assert all((folder / f"{name}.py").exists() or (folder / f"{name}_.py").exists() for name in NAMES)


def test_the_formats_are_named() -> None:
    text = help_of("report")
    assert [name for name in (*formats(), *streamed()) if name not in text] == []


def test_the_overview_lists_every_command_once() -> None:
    from gpudx.cli.overview import GROUPS, overview

    listed = [name for group in GROUPS.values() for name in group]
    assert sorted(listed) == sorted(NAMES)
    assert next(iter(GROUPS.values())).keys() == {"run", "investigate", "explain"} and "run --" in overview()


def test_the_aspects_of_a_comparison_are_those_of_the_model() -> None:
    from gpudx.cli import diff
    from gpudx.model.comparison import ASPECTS

    assert diff.ASPECTS == ASPECTS


@pytest.mark.parametrize("name", NAMES)
def test_help_imports_neither_numpy_nor_the_model(name: str) -> None:
    """It would take longer than all the rest of it."""
    code = f"import sys; sys.argv = ['gpudx', '{name}', '--help']; from gpudx.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'numpy', 'gpudx.model', 'gpudx.facts', 'gpudx.lab'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("words", [("show",), ("show", "case"), ("diff",), ("audit",), ("lint",), ("bisect",)])
def test_a_missing_word_is_one_sentence_that_names_it(words: tuple[str, ...]) -> None:
    done = in_process(words, Path.cwd(), os.environ)
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 2 and "Missing" in line and f"`gpudx {words[0]} -h`" in line and "\\x" not in line


def test_numpy_is_not_loaded_before_the_program_starts() -> None:
    """Its threads would not block the signals that gpudx passes on, and it takes longer to import than everything else."""
    code = "import sys, gpudx.cli.run, gpudx.cli.running; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
