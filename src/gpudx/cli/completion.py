"""gpudx completion: what a shell needs to complete commands and options.

The scripts are complete in themselves: pressing Tab starts no Python. They are made from the commands as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import click

from gpudx.cli.declare import Argument


class Shell(StrEnum):
    """The shells."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@dataclass(frozen=True)
class Option:
    """An option by all its names."""

    names: tuple[str, ...]
    help: str
    flag: bool
    values: tuple[str, ...] = ()  # what it can be, where that is a fixed list
    takes_cases: bool = False


@dataclass(frozen=True)
class Word:
    """A command."""

    name: str
    help: str
    options: tuple[Option, ...]
    values: tuple[str, ...] = ()  # what its argument can be, where that is a fixed list
    takes_cases: bool = False


def command(shell: Annotated[Shell, Argument(help="bash, zsh or fish.")]) -> None:
    """Print a script for shell completion: commands, options, cases and demos.

    \b
        eval "$(gpudx completion bash)"      # in ~/.bashrc
        eval "$(gpudx completion zsh)"       # in ~/.zshrc, after compinit
        gpudx completion fish > ~/.config/fish/completions/gpudx.fish

    Exit status: 0; 2 for a shell that is not known.
    """
    click.echo(SCRIPTS[shell](list(words())))


def words() -> Iterator[Word]:
    """All commands."""
    from gpudx.cli import commands, make_app

    modules = commands()
    known: dict[str, dict[str, tuple[str, ...]]] = {
        name: getattr(module, "option_values", dict)() for name, module in modules.items()
    }
    for name, one in sorted(make_app().commands.items()):
        found = [p for p in one.params if isinstance(p, click.Option)]
        options = (
            Option(
                tuple(p.opts),
                p.help or "",
                bool(p.is_flag),
                (*_choices(p), *known[name].get(p.opts[0], ())),
                _takes_cases(p),
            )
            for p in found
        )
        text = (one.help or "").split("\n\n")[0]
        arguments = [p for p in one.params if isinstance(p, click.Argument)]
        values: list[str] = getattr(modules[name], "values", list)()
        values += [value for p in arguments for value in _choices(p)]
        yield Word(
            name,
            " ".join(text.split()),
            (*options, Option(("--help",), "Show this help.", True)),
            tuple(values),
            any(map(_takes_cases, arguments)),
        )


def _takes_cases(parameter: click.Parameter) -> bool:
    """As its name in the help says, or the words behind it."""
    return "CASE" in str(parameter.metavar) or getattr(parameter, "explained", "").startswith("The case of")


def _choices(parameter: click.Parameter) -> tuple[str, ...]:
    return tuple(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else ()


def bash(commands: list[Word]) -> str:
    """After "--" everything is the program's: files and commands."""
    cases = "\n".join(
        f"        {one.name}) options='{' '.join(_names(one))}' values='{' '.join(one.values)}' cases='{'1' if one.takes_cases else ''}' ;;"
        for one in commands
    )
    return f"""_gpudx_cases() {{
    # Nothing typed yet, or the beginning of the folder's name: the cases themselves.
    COMPREPLY=()
    if [ "${{current%/*}}" = "$current" ] && [[ gpudx-cases/ == "$current"* ]]; then
        mapfile -t COMPREPLY < <(compgen -A directory -- gpudx-cases/)
    fi
    [ ${{#COMPREPLY[@]}} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -A file -- "$current")
}}
_gpudx() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} options= values= cases= word
    case ${{COMP_WORDS[1]}}:${{COMP_WORDS[COMP_CWORD-1]}} in
{_of_options(commands, BASH_VALUES, BASH_CASES)}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W '{" ".join(one.name for one in commands)} --help --version' -- "$current")
        return
    fi
    for word in "${{COMP_WORDS[@]:2:COMP_CWORD-2}}"; do
        if [ "$word" = -- ]; then
            mapfile -t COMPREPLY < <(compgen -A command -A file -- "$current")
            return
        fi
    done
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    case $current in
        -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
        *)
            COMPREPLY=()
            [ -z "$values" ] || mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
            if [ -n "$cases" ] && [ ${{#COMPREPLY[@]}} -eq 0 ]; then
                _gpudx_cases
            elif [ -z "$values" ]; then
                mapfile -t COMPREPLY < <(compgen -A file -- "$current")
            fi ;;
    esac
}}
complete -o filenames -F _gpudx gpudx"""


def zsh(commands: list[Word]) -> str:
    listed = "\n".join(f"        {_quoted(f'{one.name}:{_line(one.help)}')}" for one in commands)
    cases = "\n".join(
        f"        {one.name}) flags=({' '.join(_names(one))}) values=({' '.join(one.values)}) cases={int(one.takes_cases)} ;;"
        for one in commands
    )
    return f"""#compdef gpudx
_gpudx() {{
    # Not named `commands` and `options`: these are zsh's own tables, which _normal reads.
    local -a gpudx_commands flags values
    local cases=0
    gpudx_commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe command gpudx_commands
        return
    fi
    local at=${{words[(i)--]}}
    if (( at < CURRENT )); then
        shift $at words
        (( CURRENT -= at ))
        _normal
        return
    fi
    case ${{words[2]}}:${{words[CURRENT-1]}} in
{_of_options(commands, ZSH_VALUES, ZSH_CASES)}
    esac
    case ${{words[2]}} in
{cases}
    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        compadd -- $flags
        return
    fi
    (( $#values )) && compadd -- $values
    if (( cases || ! $#values )); then
        (( cases )) && compadd -f -- gpudx-cases/*(N/)
        _files
    fi
}}
compdef _gpudx gpudx"""


def fish(commands: list[Word]) -> str:
    lines = [FISH_PROGRAM]
    for one in commands:
        lines.append(f"complete -c gpudx -f -n __fish_use_subcommand -a {one.name} -d {_fish_quoted(_line(one.help))}")
        seen = _fish_quoted(f"__fish_seen_subcommand_from {one.name}")
        if one.values:
            files = "" if one.takes_cases else " -f"
            lines.append(f"complete -c gpudx{files} -n {seen} -a {_fish_quoted(' '.join(one.values))}")
        if one.takes_cases:
            lines.append(f"complete -c gpudx -n {seen} -a {_fish_quoted(FISH_CASES)}")
        for option in one.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = "" if option.flag else f" -x -a {_fish_quoted(' '.join(option.values))}" if option.values else " -r"
            value += f" -a {_fish_quoted(FISH_CASES)}" if option.takes_cases else ""
            lines.append(f"complete -c gpudx -n {seen} {names}{value} -d {_fish_quoted(_line(option.help))}")
    return "\n".join(lines)


def _of_options(commands: list[Word], values: str, cases: str) -> str:
    """One line of a shell's `case` for each option with known values, or one that takes a case: `values` or `cases` with
    COMMAND:OPTION|... and the values."""
    return "\n".join(
        (cases if option.takes_cases else values).format(
            "|".join(f"{one.name}:{name}" for name in option.names), " ".join(option.values)
        )
        for one in commands
        for option in one.options
        if option.values or option.takes_cases
    )


BASH_VALUES = """        {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- "$current"); return ;;"""
BASH_CASES = "        {}) _gpudx_cases; return ;;"
ZSH_VALUES = "        {}) compadd -- {}; return ;;"
ZSH_CASES = "        {}) compadd -f -- gpudx-cases/*(N/); _files; return ;;"
FISH_CASES = "(set -l cases gpudx-cases/*/; printf '%s\\n' $cases)"  # `set` allows a pattern without matches
FISH_PROGRAM = """# After "--" everything is the program's: a command, then whatever it completes.
function __gpudx_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words); or return
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
complete -c gpudx -n 'contains -- -- (commandline -opc)' -a '(__gpudx_program)'"""
SCRIPTS: dict[Shell, Callable[[list[Word]], str]] = {Shell.bash: bash, Shell.zsh: zsh, Shell.fish: fish}


def _names(one: Word) -> list[str]:
    return [name for option in one.options for name in option.names]


def _line(text: str) -> str:
    """The first sentence."""
    return text.partition(". ")[0].rstrip(".")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
