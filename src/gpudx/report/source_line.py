"""The line of the user's code that a verdict is about, with the lines around it.

A recorded call is often made by a small wrapper of the program (`gpu_set(kernel, index, buffer)`), which is the same line for
every call: the first caller that decides something is the line to read.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gpudx.model import Access, Case, Diagnosis, Guilty, Site
from gpudx.text.places import is_installed

AROUND = 2
MOST_BYTES = 4_000_000
MOST_WRAPPERS = 3
# A case may come from somebody else: only files that look like sources are quoted.
SUFFIXES = frozenset(
    ".c .cc .cpp .cxx .c++ .cu .cuh .cl .clh .h .hh .hpp .hxx .hip .inc .inl .py .pyx .rs .jl .f90".split()
)
# "<kernel>:12", "add.cl:12", "line 12": of the text that the program gave the driver, not of a file that can be opened.
KERNEL_TEXT = re.compile(r"^(?:(?P<name><[^>]*>|[^/:]*):|line )(?P<line>\d+)$")
# A wrapper that computes with a member of a parameter, or that sets an argument with a fixed number to one, decides something:
# `buffer(a->n * sizeof(int))`, `clSetKernelArg(k, 3, sizeof(int), &grid.ny)`.
DECIDES = re.compile(
    r"(?:\.|->)\w+\s*[-+*/%](?!>)|[\w)\]]\s*[-+*/%]\s*\w+(?:\.|->)\w|(?:^|\()\s*[\w.>-]+\s*,\s*\d+\s*,.*&\s*\w+(?:\.|->)\w", re.S
)
PICKS = re.compile(r"\b(\w+)(?:\.|->)(\w+)\b(?!\s*\().*\b\1(?:\.|->)(?!\2\b)\w+\b(?!\s*\()", re.S)  # in.width, in.pitch
REFUSED = "launch-refused"
RELEASES = re.compile(r"^cl(?:Release|SVMFree)|Free|Destroy")
STALE = "stale-executable"
STUB = "__device_stub_"  # of nvcc and hipcc: it launches the kernel
NATIVE = re.compile(r"^(?P<function>.+) at (?P<file>[^/ ]+):(?P<line>\d+) \((?P<object>.+)\)$")
PYTHON = re.compile(r"^(?P<file>[^/ ]+):(?P<line>\d+) in (?P<function>.+) \(python\)$")


KernelText = Callable[[Case, str], Sequence[str]]  # the lines of the program that a kernel is of, by its name


@dataclass(frozen=True)
class SourceLine:
    """`lines` are the quoted ones, from `first` on; empty where the file cannot be read."""

    place: str  # "main.cu:88", with the folder where it is below the current one
    function: str
    line: int
    first: int = 0
    lines: tuple[str, ...] = ()
    path: str = ""  # of the file; "" where the text is in none

    def around(self, count: int) -> list[tuple[int, str]]:
        """The line with at most `count` lines before and behind it, without empty ones at the edges."""
        chosen = [(n, text) for n, text in enumerate(self.lines, self.first) if abs(n - self.line) <= count]
        while chosen and not chosen[0][1].strip() and chosen[0][0] != self.line:
            chosen.pop(0)
        while chosen and not chosen[-1][1].strip() and chosen[-1][0] != self.line:
            chosen.pop()
        return chosen


@dataclass(frozen=True)
class _Frame:
    file: str
    line: int
    function: str


def of(case: Case, entry: Diagnosis, kernel_text: KernelText | None = None) -> SourceLine | None:
    """The line to read first: the call to change, else the access inside the kernel, else the guilty call, else the victim. None of a
    program that is older than its sources: a line of theirs is another one."""
    if entry.cause == STALE:
        return None
    folders = _folders(case, *_sites(entry))
    if entry.root is not None and (found := _of_site(entry.root, folders)):
        return found
    if entry.cause == REFUSED and entry.guilty and (found := _of_computing(entry.guilty, folders)):
        return found
    sites = [entry.guilty, entry.victim.site if entry.victim else None]
    host = next(filter(None, (_of_site(site, folders) for site in sites if site is not None)), None)
    host = _launch_line(entry, folders) if _is_of_kernel(host, entry) else host
    if entry.access is not None and entry.access.source and (found := _of_kernel(case, entry, folders, kernel_text)):
        other = entry.access.seen_by == "kernel check" and entry.guilty and entry.access.kernel not in ("", entry.guilty.kernel)
        launched = f", launched at {host.place}" if host and entry.guilty and not other else ""
        return replace(found, function=f"{found.function}{launched}")
    return host


def _is_of_kernel(host: SourceLine | None, entry: Diagnosis) -> bool:
    """Is the line that stands for the guilty call that of the access, inside the kernel?"""
    inside = entry.access.source if entry.access else None
    return host is not None and inside is not None and os.path.basename(inside) == os.path.basename(host.place)


def _launch_line(entry: Diagnosis, folders: Sequence[str]) -> SourceLine | None:
    """Where the kernel was launched: the first own frame of the stack that is not the kernel's stub."""
    kernel = entry.guilty.kernel if entry.guilty and entry.guilty.kernel else ""
    for frame in filter(None, map(_frame, entry.guilty.host_stack if entry.guilty else ())):
        is_stub = STUB in frame.function or (kernel and kernel in frame.function.split("(")[0].split(" "))
        if not is_stub and (file := _found(frame.file, folders)):
            return _quoted(file, frame.line, frame.function)
    return None


def of_call(case: Case, site: Site) -> str:
    """ "file:line" of one call, without the wrappers between it and the line that decides; as recorded where no file is found."""
    found = _of_site(site, _folders(case, site))
    return found.place if found else site.source or ""


def line_of_kernel_text(source: str) -> tuple[str, int] | None:
    """The name, "" if there is none, and the line that an access in a kernel's own text was at; None for one in a file."""
    found = KERNEL_TEXT.match(source)
    return (found["name"] or "", int(found["line"])) if found else None


def _of_computing(site: Guilty, folders: Sequence[str]) -> SourceLine | None:
    """Of a launch whose sizes are wrong: a function that computes them, though the caller decides which kernel it launches."""
    frames = [frame for frame in map(_frame, site.host_stack) if frame]
    own = next((at for at, frame in enumerate(frames) if (path := _found(frame.file, folders)) and not is_installed(path)), None)
    chosen = _first_own(frames[own:], _found(frames[own].file, folders), folders) if own is not None else None
    return _quoted(*chosen) if chosen else None


def _of_site(site: Site | Guilty, folders: Sequence[str]) -> SourceLine | None:
    if not site.source:
        return None
    path, line = _split(site.source)
    if not line:
        return None
    frames = [frame for frame in map(_frame, site.host_stack) if frame]
    at = next((i for i, one in enumerate(frames) if (one.file, one.line) == (os.path.basename(path), line)), None)
    if at is None:
        return None if is_installed(path) else _quoted(path, line, "")
    argument = site.argument is not None
    chosen = _where_it_ended(frames[at:], site.call, folders) or _first_own(frames[at:], path, folders, argument)
    return _quoted(*chosen) if chosen else None


def _where_it_ended(frames: Sequence[_Frame], call: str, folders: Sequence[str]) -> tuple[str, int, str] | None:
    """Of a release by a C++ object: the function in which the object ended, or was assigned to. The line inside the class is the same for
    all its objects."""
    near = frames[: MOST_WRAPPERS + 1] if RELEASES.search(call) else ()
    names = [frame.function.split("(")[0].rpartition("::")[2] for frame in near]
    ended = next((at + 1 for at in reversed(range(len(names))) if names[at].startswith("~")), None)
    first = ended if ended is not None else next((at for at, name in enumerate(names) if at and name == "operator="), None)
    if first is None or first >= len(frames):
        return None
    own = next(((file, one) for one in frames[first:] if (file := _found(one.file, folders))), None)
    return (own[0], own[1].line, own[1].function) if own else None


def _first_own(frames: Sequence[_Frame], path: str, folders: Sequence[str], is_argument: bool = False) -> tuple[str, int, str] | None:
    """The first frame whose file is the user's and that does more than to pass its parameters on. For the argument of a kernel, one that
    picks members of a parameter does more."""
    chosen: tuple[str, int, str] | None = None
    for number, frame in enumerate(frames):
        file = path if number == 0 else _found(frame.file, folders)
        if number == 0 and is_installed(path):
            continue
        if not file or (number > MOST_WRAPPERS and chosen):
            break
        chosen = (file, frame.line, frame.function)
        if not _passes_on(file, frame) or (is_argument and PICKS.search(_call(_lines(file), frame.line))):
            break
    return chosen


def _of_kernel(
    case: Case, entry: Diagnosis, folders: Sequence[str], kernel_text: KernelText | None
) -> SourceLine | None:
    """A line of device code: of a file, or of the text that the program gave the driver."""
    assert entry.access is not None and entry.access.source
    path, line = _split(entry.access.source)
    kernel = entry.access.kernel or (entry.guilty.kernel if entry.guilty else "") or ""
    found = path if os.path.isfile(path) else _found(os.path.basename(path), folders)
    function = f"{entry.access.function}, called by {kernel}" if entry.access.function and kernel else kernel
    if found and line:
        return _quoted(found, line, function)
    inside = line_of_kernel_text(entry.access.source)
    if inside and kernel and kernel_text:
        name, line = inside
        text = kernel_text(case, kernel)
        if 0 < line <= len(text):
            return _cut(text, f"{name}:{line}" if name else f"line {line} of the kernel source", line, function)
    return None


def _split(source: str) -> tuple[str, int]:
    path, _, number = source.rpartition(":")
    return (path, int(number)) if number.isascii() and number.isdigit() else (source, 0)


def _frame(text: str) -> _Frame | None:
    found = NATIVE.match(text) or PYTHON.match(text)
    return _Frame(found["file"], int(found["line"]), found["function"]) if found else None


def _sites(entry: Diagnosis) -> list[Site | Guilty | Access | None]:
    memory = entry.guilty.allocation if entry.guilty else None
    victim = entry.victim.site if entry.victim else None
    return [entry.guilty, entry.root, victim, memory.made if memory else None, entry.access]


def _folders(case: Case, *sites: Site | Guilty | Access | None) -> list[str]:
    """Where the files of frames, which are known by name only, may be: beside those that are known by path."""
    sources = [one.source for one in sites if one and one.source]
    folders = [os.path.dirname(_split(one)[0]) for one in sources if one.startswith("/")]
    folders += [os.path.dirname(os.path.abspath(case.command[0]))] if case.command and "/" in case.command[0] else []
    built = [one.built for one in case.identity.objects if one.own and one.built] if case.identity else []
    return list(dict.fromkeys([*folders, os.getcwd(), *(folder for one in built for folder in one.folders)]))


def _found(name: str, folders: Iterable[str]) -> str:
    if Path(name).suffix not in SUFFIXES:
        return ""
    return next((path for folder in folders if os.path.isfile(path := os.path.join(folder, name))), "")


def _quoted(path: str, line: int, function: str) -> SourceLine | None:
    name = _shown_path(path)
    if Path(path).suffix not in SUFFIXES:
        return None
    function = "" if function.startswith("_Z") else function  # a lambda's, which has no name that a person wrote
    return replace(_cut(_lines(path), f"{name}:{line}", line, function), path=os.path.abspath(path))


def _cut(text: Sequence[str], place: str, line: int, function: str) -> SourceLine:
    if not 0 < line <= len(text):
        return SourceLine(place, function, line)
    first = max(line - AROUND, 1)
    return SourceLine(place, function, line, first, tuple(text[first - 1 : line + AROUND]))


def _shown_path(path: str) -> str:
    """As short as it can be opened from here."""
    near = os.path.relpath(path) if os.path.isabs(path) else path
    return path if near.startswith("..") else near


@cache
def _lines(path: str) -> tuple[str, ...]:
    """The lines of a plain file; it may be a pipe or a device, which are not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ()
    with open(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            return ()
        return tuple(file.read().decode("utf-8", "replace").expandtabs(4).split("\n"))


# ---- wrappers ----


def _passes_on(path: str, frame: _Frame) -> bool:
    """Does the function only pass its own parameters to the call in this line? Read from its text; False if unsure."""
    lines = _lines(path) if path else ()
    name = frame.function.split("(")[0].split("::")[-1]
    if not 0 < frame.line <= len(lines) or name in ("main", ""):
        return False
    if path.endswith(".py"):
        return _passes_on_in_python("\n".join(lines), frame.line)
    parameters = _parameters(lines, frame.line, name)
    statement = _call(lines, frame.line)
    used = set(_identifiers(statement)) - _filled(lines, frame.line, name, statement)
    inside = _declared(lines, frame.line, name)
    given = all(one in parameters or _is_global(lines, one) or not inside(one) for one in used)
    ends = any(_is_owner(lines, frame.line, name, one) for one in used & parameters)
    return bool(used & parameters) and given and not ends and not DECIDES.search(statement.partition("(")[2])


def _passes_on_in_python(text: str, line: int) -> bool:
    """The same for a function of Python: is the call in this line given the function's parameters, and constants of the module?"""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    around = [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or 0)]
    functions = [one for one in around if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    statements = [one for one in around if isinstance(one, ast.Expr | ast.Return) and isinstance(one.value, ast.Call)]
    if not functions or not statements:
        return False
    given = functions[-1].args  # ast.walk goes from the outside in
    several = [one for one in (given.vararg, given.kwarg) if one]
    parameters = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *several)} - {"self", "cls"}
    call = statements[-1].value
    assert isinstance(call, ast.Call)
    names = _names(*call.args, *call.keywords)
    asked = _names(call.func.value) - {"self", "cls"} if isinstance(call.func, ast.Attribute) else set()  # total, of total.add_(value)
    modules = {name.asname or name.name for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom) for name in one.names}
    local = {one for one in (names | asked) - parameters - modules if not one.isupper() and not hasattr(builtins, one)}
    return bool(names & parameters) and not local


def _names(*parts: ast.AST) -> set[str]:
    return {one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)}


def _filled(lines: Sequence[str], line: int, name: str, statement: str) -> set[str]:
    """Variables of the function that the statement fills and nothing else has: declared without a value, passed by address."""
    first = _begin(lines, line, name)
    before = "\n".join(lines[first : line - 1]) if first is not None else ""
    passed = set(re.findall(r"&\s*([A-Za-z_]\w*)", statement))
    empty = r"\b[A-Za-z_][\w:<>]*[\s*]+{}\s*(?:=\s*(?:0|NULL|nullptr)\s*)?;"
    return {one for one in passed if re.search(empty.format(re.escape(one)), before)}


def _parameters(lines: Sequence[str], line: int, name: str) -> set[str]:
    """Of the function with this name that begins at or above the line."""
    first = _begin(lines, line, name)
    if first is None:
        return set()
    text = "\n".join(lines[first : first + 8])
    inside = text[text.index("(") + 1 :].partition(")")[0]
    return {words[-1] for part in inside.split(",") if (words := re.findall(r"[A-Za-z_]\w*", part))}


def _is_owner(lines: Sequence[str], line: int, name: str, parameter: str) -> bool:
    """Is it a container or a smart pointer that the function has a copy of? Its end may free what it passed on."""
    first = _begin(lines, line, name)
    inside = " ".join(lines[first : first + 8]).partition("(")[2] if first is not None else ""
    return re.search(rf"\b(?:shared_ptr|unique_ptr|vector|string)\b[^()&*]*>?\s{re.escape(parameter)}\s*[,)]", inside) is not None


def _declared(lines: Sequence[str], line: int, name: str) -> Callable[[str], bool]:
    """Is a variable declared in the function, above the line? Others are members of its class, or of the file."""
    first = _begin(lines, line, name)
    text = "\n".join(lines[first:line]) if first is not None else "\n".join(lines[:line])
    return lambda one: first is None or bool(re.search(rf"[\w>*&]\s+[*&]*{re.escape(one)}\s*(?:[=;,\[({{:]|$)", text, re.M))


def _begin(lines: Sequence[str], line: int, name: str) -> int | None:
    """The index of the line that the function begins in."""
    begin = re.compile(rf"\b{re.escape(name)}\s*\(")
    numbers = range(line - 1, max(line - 60, -1), -1)
    found = [n for n in numbers if begin.search(lines[n]) and not lines[n].lstrip().startswith("return")]
    return next((n for n in found if not lines[n].startswith((" ", "\t"))), next((n for n in found if _is_head(lines, n)), None))


def _is_head(lines: Sequence[str], at: int) -> bool:
    """Does the definition of a member function begin in this line of its class? Its parameters end with an open brace, no semicolon."""
    text = re.sub(r"//.*", "", "\n".join(lines[at : at + 8]))
    return bool(re.match(r"[^;{}]*\)[\w\s]*(?::[^;{}]*)?\{", text)) and not re.match(r"\s*(?:if|for|while|switch|else)\b", text)


def _call(lines: Sequence[str], line: int) -> str:
    """The statement that the line is in: up to its semicolon, from behind the one before."""
    first = line - 1
    while first > 0 and first > line - 6 and not re.search(r"[;{}]\s*(//.*)?$", lines[first - 1]):
        first -= 1
    text = re.sub(r"//.*", "", "\n".join(lines[first : line + 6]))
    return re.sub(r".*\)[\w\s]*\{", "", text.partition(";")[0], flags=re.DOTALL)  # less the head of a function in one line


def _identifiers(statement: str) -> Iterator[str]:
    """Variables that a call is given: not functions, types in sizeof or a cast, members, constants or where results go."""
    arguments = statement.partition("(")[2]
    arguments = re.sub(r"sizeof\s*\([^)]*\)|\"[^\"]*\"|\(\s*(?:const\s+)?\w+\s*\*+\s*\)", " ", arguments)
    arguments = re.sub(r"(?:\.|->)\s*\w+", " ,", arguments)  # the comma: in `tmp->data()`, tmp is no function
    for found in re.finditer(r"(&?)\s*\b([A-Za-z_]\w*)\b\s*(\(?)", arguments):
        out, name, call = found.groups()
        if (
            not call
            and not name.isupper()
            and name not in ("sizeof", "nullptr", "const", "void")
            and not _is_result(out, name)
        ):
            yield name


def _is_result(out: str, name: str) -> bool:
    return bool(out) and name in ("err", "error", "status", "ret", "rc", "result", "p", "ptr", "out", "event")


def _is_global(lines: Sequence[str], name: str) -> bool:
    """A variable of the file, or a kernel, which some launches are passed like a variable."""
    declared = re.compile(rf"^(?:static\s+|extern\s+)?[A-Za-z_][\w\s*<>:]*\b{re.escape(name)}\b\s*(?:=|;|,|\[)")
    kernel = re.compile(rf"\b__global__\b.*\b{re.escape(name)}\s*\(")
    return any(declared.match(line) or kernel.search(line) for line in lines)
