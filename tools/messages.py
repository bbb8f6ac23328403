"""Finds in the sources, by their syntax trees, every sentence that can reach a report, as a template with numbered places.

`f"Launch {row + 1} of kernel {name} failed"` becomes "Launch {0} of kernel {1} failed". Choices that are written out, locals that
are assigned once and constants of the module are put in, so that a template reads as the sentence does; a sentence with a choice
gives one template for each way it can go. What a function or a join gives stays a place: its own strings are found where they are.

usage: PYTHONPATH=src:tools python tools/messages.py [LANGUAGE]      all of them, or what a language lacks, as lines for its file
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from gpudx.detectors._ages import UNITS
from gpudx.model import case, diagnosis, flake, identity, investigation
from gpudx.report.html.pictures import words
from gpudx.report.languages import sentences
from gpudx.report.outline import SEVERITIES

SOURCES = Path(__file__).resolve().parent.parent / "src" / "gpudx"
PARTS = (
    "report", "causes", "detectors", "diagnose", "stated", "identity", "drawn", "facts", "lab", "evidence", "model", "pipeline.py",
    "laboratory.py", "flaked_case.py", "backends",
)  # fmt: skip
# Types, options, and what `gpudx doctor` says.
PASSED_OVER = re.compile(r"backends/(mangling|asking|\w+/(__init__|probe_\w+))\.py")
REPORT = {
    "outline.py",
    "builds.py",
    "flaked.py",
    "investigated.py",
    "pictured.py",
    "stated.py",
}  # the wording; the rest is looks
SPOKEN = "spoken"  # what formats say themselves goes through this function of gpudx.report.languages
MOST_WAYS = 12  # of one sentence; beyond that its choices are places
PLACE = None
MARK = "\0"
NAMED = re.compile(r"\{[a-z]*(?::[^}]*)?\}")  # a place of str.format
TOUCHING = re.compile(f"{MARK}(?: ?{MARK})+")  # places with nothing between them are one
WORDS = re.compile(r"[A-Za-z]{2,}")
ENUMS = {
    "status": get_args(diagnosis.Status),
    "outcome": get_args(diagnosis.OutcomeName),
    "kind": get_args(flake.Kind),
    "state": ("live", "freed", "released", "host memory"),
}  # what stands for a word of the model is written out, but only in report/: elsewhere these names mean other things
SILENT = {"startswith", "endswith", "split", "get", "compile", "removeprefix", "UserError", "ValueError", "Literal"}
QUOTED = {"MARKS", "DETAILS", "FATAL", "DOUBTFUL", "TARGET", "ADVICE", "VALUED"}  # what others print, and options
DEEDS = {"MEANINGS", "REASONS", "READ_ONLY"}
DEED = re.compile(r"(touched|used|ran|met|wrote|could|failed|has|was|does|faulted|ended|got|is)\b.* ")
STATUS = "_s"  # a row of statuses: number, names, what drivers print, group, and then the meaning
MEANING = 4  # its place there
COMMAND = re.compile(
    r"gpudx \w+ (-[^,:]*|\{0\})$|[A-Z_]+=|nvidia-smi |cargo |for t in |set_tests_properties|\[env\]|--\w+="
    r"|def |names = |\w+\([a-z, .]*\)$|(Tiny)?Llama \d|Qwen2 \d|[\w+ -]+ (documentation|Guide|manual)(,|$)|OpenCL ICD loader|ocl-icd"
    r"|[\w ]+, ([\w/]+\.(c|cpp|h|hpp|py)|README)$"
)  # what is typed, code, names of models, of books and of source files

BEGUN = re.compile(r"(,| [\[(])")
MACHINES = {
    "cd {0}", "log", "code", "%Y-%m-%d %H:%M:%S UTC", "gpudx: {0} case: {1}", "1 thr", "str | int", "at expression", "value expression",
    "(anonymous namespace)", "(anonymous namespace)::", "Function : {0}", "GGUF {0}",
    "{0} in {1}", "{0} in {1} ({2})", "{0}+{1} in {2}", "{0} [{1}] in {2}", "{0} [{1}] in {2} ({3})", "{0} in {1} (python)",
    "{0} at {1} ({2})",
}  # fmt: skip

KINDS = {"report": "outline", "causes": "cause"}

Way = tuple[str | None, ...]  # text, and None for a place
Names = dict[str, ast.expr]
Found = tuple[ast.expr, str, bool]  # a string, its kind, and whether a single word counts


@dataclass(frozen=True)
class Message:
    """A template, and what it is: outline, cause, finding, evidence, or a part of those."""

    text: str
    kind: str
    file: str


@cache
def messages() -> dict[str, Message]:
    """By template, in the order of files. What is of several kinds is of the first that must be translated."""
    order = ("outline", SPOKEN, "cause", "finding", "part", "evidence")
    found = {text: Message(text, "outline", "outline.py") for text in _put_together()}
    for path in _files():
        for text, kind in _of_file(path):
            known = found.get(text)
            if known is None or order.index(kind) < order.index(known.kind):
                found[text] = Message(text, kind, str(path.relative_to(SOURCES)))
    return {text: one for text, one in found.items() if text and not (text.endswith("}.") and text[:-1] in found)}


def _put_together() -> Iterator[str]:
    """Words that meet only while a report is made, and words of the model that stand alone in a cell."""
    for _, one, many in SEVERITIES:
        yield from (f"{{0}} {one}", f"{{0}} {many}", f"{many.capitalize()}:")
    yield from (f"{state.upper()} {{0}}: {{1}}" for state in get_args(identity.ProbeState))
    tables = (diagnosis.Status, diagnosis.OutcomeName, diagnosis.Expectation, case.InstrumentState, investigation.Stop)
    yield from itertools.chain.from_iterable(map(get_args, tables))
    yield from (word.upper() for word in get_args(investigation.Stop))
    yield from (f"{{0}} {name}{many}" for _, name in UNITS for many in ("", "s"))
    yield from ("PASSED", "any", "nothing", "Next:", " and ", " or ")
    yield from words.every()
    yield from get_args(flake.Kind)


def _files() -> Iterator[Path]:
    for part in PARTS:
        place = SOURCES / part
        found = [place] if place.is_file() else sorted(place.rglob("*.py"))
        yield from (one for one in found if not PASSED_OVER.match(str(one.relative_to(SOURCES))))


def _of_file(path: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(path.read_text())
    part = path.relative_to(SOURCES).parts[0]
    constants = _assigned([one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)])
    looks = part == "report" and path.name not in REPORT
    helpers = _helpers(tree)
    for name, body, names in _scopes(tree, constants):
        start = "finding" if name in helpers else "evidence" if path.name == "_kinds.py" else KINDS.get(part, "part")
        for node, kind, label in _strings(body, start):
            if looks <= (kind == SPOKEN):
                found = (text for text in _templates(node, names, part) if _is_prose(text, label))
                yield from ((text, "finding" if _is_message(text, kind, part) else kind) for text in found)
    yield from ((f"{{0}} {text}", "part") for text in _deeds(tree, constants))


def _deeds(tree: ast.Module, constants: Names) -> Iterator[str]:
    """Of tables what is said of a name that stands right before it: "touched memory that is not there"."""
    tables: list[ast.stmt] = [one for one in tree.body if _names(one) in DEEDS]
    texts = (text for node, _, _ in _strings(tables, "part") for text in _templates(node, constants, ""))
    yield from filter(DEED.match, texts)


def _is_message(text: str, kind: str, part: str) -> bool:
    """A whole sentence of a detector is a message, wherever it is put together."""
    return part == "detectors" and kind == "part" and text.endswith(".") and text[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ{"


def _assigned(body: list[ast.stmt]) -> Names:
    """Names that get their value once, and what it is."""
    given: Names = {}
    bound: Counter[str] = Counter()
    for one in itertools.chain.from_iterable(map(ast.walk, body)):
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            given[one.targets[0].id] = one.value
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.value:
            given[one.target.id] = one.value
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            bound[one.id] += 1
    return {name: value for name, value in given.items() if bound[name] == 1}


def _scopes(tree: ast.Module, constants: Names) -> Iterator[tuple[str, list[ast.stmt], Names]]:
    yield "", [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)], constants
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
            bound = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
            known = {name: value for name, value in constants.items() if name not in given | bound}
            own = {name: value for name, value in _assigned(node.body).items() if name not in given}
            yield node.name, node.body, known | own


# ---- which strings ----


def _helpers(tree: ast.Module) -> set[str]:
    """Functions of the file that make a message, or a part of one."""
    given = (one.value for one in ast.walk(tree) if isinstance(one, ast.keyword) and one.arg == "message")
    return {_called(one) for value in given for one in ast.walk(value) if isinstance(one, ast.Call)}


def _strings(body: list[ast.stmt], kind: str) -> Iterator[Found]:
    """The outermost string expressions, with their kind; docstrings and words for machines are passed over."""
    for node in body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield from _below(node, kind, False)


def _below(node: ast.AST, kind: str, label: bool) -> Iterator[Found]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Compare | ast.Raise | ast.Assert):
        return
    if _is_silent(node):
        return
    if _is_string(node) or (kind == SPOKEN and isinstance(node, ast.Name)):
        assert isinstance(node, ast.expr)
        yield node, kind, label or kind == SPOKEN
        yield from _inside(node, kind)
        return
    for child in _children(node):
        yield from _below(child, _kind_of(node, child, kind), kind == "outline" and _labels(node, child, label))


def _is_silent(node: ast.AST) -> bool:
    """Calls that take words for machines, and constants that hold them."""
    if isinstance(node, ast.Assign):
        return _names(node) in QUOTED and not isinstance(node.value, ast.Dict)
    return isinstance(node, ast.Call) and _called(node) in SILENT


def _names(node: ast.AST) -> str:
    """What an assignment gives a value to."""
    named = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return named.id if isinstance(named, ast.Name) else ""


def _children(node: ast.AST) -> Iterable[ast.AST]:
    """Of a table what its keys stand for, of a status its meaning."""
    if isinstance(node, ast.Dict):
        return node.values
    return node.args[MEANING:] if isinstance(node, ast.Call) and _called(node) == STATUS else ast.iter_child_nodes(node)


def _inside(node: ast.AST, kind: str) -> Iterator[Found]:
    """Strings that are given to calls inside a string: `plural(n, "launch")` and the like."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield from _below(child, kind, False)
        else:
            yield from _inside(child, kind)


def _labels(node: ast.AST, child: ast.AST, label: bool) -> bool:
    """Is a single word here one for readers: a heading, a head of a table, the name of a row?"""
    if isinstance(node, ast.Call):
        return _called(node) in ("Section", "Table")
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        return child is node.elts[0]
    return label and isinstance(node, ast.Tuple | ast.IfExp | ast.Starred)


def _kind_of(node: ast.AST, child: ast.AST, kind: str) -> str:
    if isinstance(node, ast.Call) and _called(node) == "Evidence":
        return "evidence"
    if isinstance(node, ast.Call) and _called(node) == SPOKEN:
        return SPOKEN
    if isinstance(child, ast.keyword) and child.arg == "message":
        return "finding"
    if isinstance(child, ast.keyword) and child.arg in ("predicts", "settled_by", "apart"):
        return "evidence"
    return kind


def _called(node: ast.Call) -> str:
    return (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )


def _is_string(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_string(node.left) or _is_string(node.right)
    if isinstance(node, ast.IfExp):
        return _is_string(node.body) or _is_string(node.orelse)
    if isinstance(node, ast.Call) and _called(node) in ("plural", "_number") and len(node.args) > 1:
        return _is_string(node.args[1])
    return isinstance(node, ast.JoinedStr)


def _is_prose(text: str, label: bool) -> bool:
    """Words for people: several, or one that is a label or a verdict."""
    bare = re.sub(r"\{\d+\}", "", text)
    if text in MACHINES or COMMAND.match(text):
        return False
    if not WORDS.search(bare) or re.search(r"\\[dswSb(]|\(\?|\[\^", bare):
        return False
    return " " in text.strip() or label


# ---- what they can say ----


def _templates(node: ast.expr, names: Names, part: str) -> list[str]:
    ways = _ways(node, names, part, 0)
    if len(ways) > MOST_WAYS:
        ways = _ways(node, {}, part, 0)
    texts = ["".join(MARK if one is PLACE else one for one in way) for way in ways[:MOST_WAYS]]
    if part == "report":  # ", call number 7" has been put in where it stands
        texts = [text for text in texts if not BEGUN.match(text)]
    return list(dict.fromkeys(_numbered(one) for text in texts for one in sentences(TOUCHING.sub(MARK, text))))


def _numbered(text: str) -> str:
    numbers = itertools.count()
    return re.sub(MARK, lambda _: f"{{{next(numbers)}}}", text.strip())


def _ways(node: ast.expr, names: Names, part: str, depth: int) -> list[Way]:
    """All that an expression can say; one place where that is not written."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [(NAMED.sub(MARK, node.value),)]
    if isinstance(node, ast.JoinedStr):
        return _product([_ways(one, names, part, depth + 1) for one in node.values])
    if isinstance(node, ast.FormattedValue):
        return _ways(node.value, names, part, depth) if node.conversion == -1 and not node.format_spec else [(PLACE,)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _product([_ways(one, names, part, depth + 1) for one in (node.left, node.right)])
    if isinstance(node, ast.IfExp):
        return [*_ways(node.body, names, part, depth), *_ways(node.orelse, names, part, depth)]
    if isinstance(node, ast.Call) and _called(node) in ("plural", "_number"):
        return [(PLACE,)] if depth else _plural(node)
    if isinstance(node, ast.Attribute) and part == "report" and node.attr in ENUMS:
        return [(word,) for word in ENUMS[node.attr]]
    return _named(node, names, part, depth)


def _named(node: ast.expr, names: Names, part: str, depth: int) -> list[Way]:
    """A local or a constant that is a string, or an entry of a table of strings."""
    known = names.get(node.id) if isinstance(node, ast.Name) else None
    if known is not None and depth < 6 and _is_string(known):
        return _ways(known, names, part, depth + 1)
    entries = _entries(node, names)
    return [way for one in entries for way in _ways(one, names, part, depth + 1)] or [(PLACE,)]


def _entries(node: ast.expr, names: Names) -> list[ast.expr]:
    """What `TABLE[key]` or `TABLE.get(key, "else")` can be, each once."""
    called = node.func if isinstance(node, ast.Call) and _called(node) == "get" else node
    if not isinstance(called, ast.Subscript | ast.Attribute) or not isinstance(called.value, ast.Name):
        return []
    table = names.get(called.value.id)
    given = node.args[1:] if isinstance(node, ast.Call) else []
    found = [*table.values, *given] if isinstance(table, ast.Dict) else []
    return list({ast.dump(one): one for one in found}.values()) if all(map(_is_string, found)) else []


def _plural(node: ast.Call) -> list[Way]:
    words = [str(one.value) for one in node.args[1:] if isinstance(one, ast.Constant)]
    one, many = (words[0], words[1] if len(words) > 1 else f"{words[0]}s") if words else ("", "")
    return [(PLACE, f" {one}"), (PLACE, f" {many}")] if words else [(PLACE,)]


def _product(parts: list[list[Way]]) -> list[Way]:
    return [tuple(itertools.chain(*ways)) for ways in itertools.islice(itertools.product(*parts), MOST_WAYS + 1)]


def lacking(language: str) -> list[Message]:
    """What a language's file has no entry for."""
    known = entries(language)
    return [one for text, one in messages().items() if text not in known]


def entries(language: str) -> dict[str, str]:
    """All entries of a language's file."""
    tables = tomllib.loads((SOURCES / "report" / "languages" / f"{language}.toml").read_text())
    return {key: said for name, table in tables.items() if name != "joined" for key, said in table.items()}


if __name__ == "__main__":
    for one in lacking(sys.argv[1]) if sys.argv[1:] else messages().values():
        print(f'# {one.kind}, {one.file}\n{json.dumps(one.text, ensure_ascii=False)} = ""')
