"""An answer to a pasted bug report: what its logs establish, what it only claims, what its numbers contradict, what to ask for.

The report is read like a log. Claims are sentences outside of code blocks and log lines that name a cause, a culprit or a
condition. Nothing is said about a claim that the logs do not settle, except that it is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpudx.diagnose.logs import Explained
from gpudx.evidence.reading import NOT_UNDERSTOOD, Log, clean_line, is_prose
from gpudx.model import Finding

# Formats that read words, which people use too; names and numbers of errors mean the same wherever they are.
WORDED = ("gpu-words", "program-error", "unrecognised", "no-device", "kernel-build", "launcher", "tests", "device-lost")
MOST = 8  # entries of a list
LONGEST = 240
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_CLAIM = re.compile(
    r"\bbecause\b|\bcaused? by\b|\bthe (?:bug|problem|issue|error|fault|crash) (?:is|comes|must|seems|lies|happens)\b|\bI (?:think"
    r"|believe|suspect|guess|assume)\b|\bprobably\b|\bseems? (?:to be|like)\b"
    r"|\bmust be\b|\bmemory leak\b|\brace condition\b|\bdriver bug\b|\bhardware\b|\bregression\b|\balways\b|\bnever\b|\bevery time\b"
    r"|\bonly (?:happens|occurs|fails)\b|\bworks? (?:fine )?(?:on|with)\b"
    r"|\bout of memory\b|\bOOM\b|\bnull pointer\b|\bout[- ]of[- ]bounds\b|\bsanitizer\b.{0,40}\b(?:clean|nothing|no errors?)\b|\bno "
    r"(?:errors?|xids?) in dmesg\b|\bdmesg (?:is|shows) (?:clean|nothing)\b|\bis (?:wrong|broken|at fault|guilty)\b"
    r"|porque|causad[oa] por|debido a|culpa de|parece que|creo que|pienso que|sospecho|siempre"
    r"|因为|原因|总是|应该是|可能是|认为|觉得|怀疑|导致|显存不足|有 ?bug|때문|원인|항상|아마|같습니다|생각|의심|메모리 부족"
    r"|ため|おそらく|必ず|毎回|と思|せい|メモリ不足",
    re.IGNORECASE,
)
# "It is not out of memory."
_DENIES = re.compile(
    r"\b(?:not|no|never|neither|without)\b|n't\b|rule[sd]? out|\bno (?:es|hay|se trata)\b|不是|没有|并非|不会|아니|아닙|아님|않|없"
    r"|ではない|ではありません|じゃない|ありません",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"(?<![\w.])(\d[\d,_]*(?:\s*[*x×]\s*\d[\d,_]*)+)\s*=\s*(\d[\d,_]*)(?![\w.])")
_FACTORS = re.compile(r"(?<![\w.])(\d[\d,_]*(?:\s*[*x×]\s*\d[\d,_]*){1,4})(?![\w.])")
_CALL = re.compile(r"\b((?:cuda|hip)[A-Z]\w+|cu[A-Z]\w+|cl[A-Z]\w+)\b")
_FREE = re.compile(r"it asked for ([\d.]+) ([KMGT]?i?B); ([\d.]+) ([KMGT]?i?B) were free")
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
INT_LIMIT = 1 << 31
# What a reader of the report needs, and how it is recognised in the text.
NEEDED = (
    (
        "the exact command that fails",
        re.compile(
            r"^\s*(?:\$|>|PS [A-Z]:|#)\s*\S|command(?: line)?\s*[:=]|\bpython3? \S+\.py|\./\w+",
            re.MULTILINE | re.IGNORECASE,
        ),
    ),
    (
        "the GPU model",
        re.compile(
            r"\b(?:RTX|GTX|Tesla|Quadro|A100|H100|H200|B200|L40S?|V100|T4|MI\d{2,3}X?|Radeon|Arc|Iris|Adreno|Mali"
            r"|gfx\d{3,4}|sm_\d{2,3}|GB?200|GeForce|Instinct|Apple M\d)",
            re.IGNORECASE,
        ),
    ),
    (
        "driver and toolkit versions",
        re.compile(
            r"driver(?: version)?\D{0,12}\d{2,4}\.\d|CUDA(?: version)?\D{0,6}1\d\.\d"
            r"|ROCm\D{0,6}\d\.\d|cuda[_-]?1\d",
            re.IGNORECASE,
        ),
    ),
    (
        "whether it fails every time, or how often",
        re.compile(
            r"\balways\b|every time|sometimes|random|intermittent|\d+ (?:of|out of) \d+"
            r"|reproduc|siempre|总是|항상|必ず",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True)
class Report:
    """A pasted report: its whole text, and the sentences that are not parts of logs."""

    text: str
    sentences: tuple[str, ...]


def split(text: str, log_lines: frozenset[int]) -> Report:
    """`log_lines` are the lines in which messages were recognised, counted from 1."""
    fenced, prose = False, []
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and number not in log_lines and not line.startswith(("    ", "\t")):
            prose.append(clean_line(line.encode()).strip(" #*>-"))
    sentences = (one.strip() for line in prose for one in _SENTENCE.split(line) if one)
    return Report(text, tuple(dict.fromkeys(one for one in sentences if one)))


def without_prose(text: str, log: Log) -> Log:
    """What a person writes around a log is a claim, and establishes nothing: formats that read words leave it alone."""
    fenced, has_fences, lines = False, bool(re.search(_FENCE.pattern, text, re.MULTILINE)), {0}
    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or not (has_fences or is_prose(clean_line(line.encode()).strip())):
            lines.add(number)
    told = tuple(one for one in log.told if one.event.format not in WORDED or one.event.line in lines)
    return replace(log, told=told)


def answer(text: str, explained: Explained) -> str:
    """The answer as Markdown, ready to post."""
    lines = frozenset(_line(one) for one in explained.findings if one.id != f"log-{NOT_UNDERSTOOD}")
    report = split(text, lines)
    against = list(_contradicted(report, explained))
    claims = [one for one in report.sentences if _CLAIM.search(one) and not any(one[:80] in other for other in against)]
    parts = (
        ("Established by the logs", list(_established(explained))),
        ("Claimed, and not shown by the logs", [f"“{one[:LONGEST]}”" for one in claims]),
        ("Claims that the logs or numbers contradict", against),
        ("Please add", list(_asked(report, explained))),
    )
    shown = [
        f"**{title}**\n\n" + "\n".join(f"- {one}" for one in entries[:MOST]) for title, entries in parts if entries
    ]
    return (
        "\n\n".join(shown) + "\n"
        if shown
        else "The report contains no message of a GPU runtime, driver or tool, and no claim about one.\n"
    )


def _established(explained: Explained) -> Iterator[str]:
    first = explained.diagnosis[0].summary if explained.diagnosis else ""
    standing = [one for one in explained.findings if one.severity != "info" and one.id != f"log-{NOT_UNDERSTOOD}"]
    for one in sorted(standing, key=lambda found: found.message != first):
        yield f"{one.message} (line {_line(one)})"
    for entry in explained.diagnosis[:1]:
        if entry.reason:
            yield entry.reason
    followers = sum(one.severity == "info" and bool(one.written and one.written.follows) for one in explained.findings)
    if followers:
        yield f"{followers} later message{'s' if followers > 1 else ''} only follow{'' if followers > 1 else 's'} from it."


def _contradicted(report: Report, explained: Explained) -> Iterator[str]:
    yield from _arithmetic(report)
    errors = [one for one in explained.findings if one.severity == "error"]
    late = [one for one in explained.findings if _is_report(one)]  # also those that follow a fault
    for sentence in report.sentences:
        call = _CALL.search(sentence)
        named = [one for one in late if call and (call[1] in one.message or call[1] in _text(one))]
        if call and named and _blames(sentence):
            yield (
                f"“{sentence[:LONGEST]}”: the error was left by earlier device work; {call[1]} only returned it "
                f"(line {_line(named[0])})."
            )
        yield from _about_memory(sentence, errors)
        yield from _about_tools(sentence, errors)


def _blames(sentence: str) -> bool:
    return bool(
        re.search(
            r"\b(?:in|is|caused?|fails?|crash\w*|bug|wrong|problem|guilty|fault)\b|失败|错误|오류|falla",
            sentence,
            re.IGNORECASE,
        )
    )


def _text(finding: Finding) -> str:
    return " ".join(one.text for one in finding.evidence)


def _about_memory(sentence: str, errors: Sequence[Finding]) -> Iterator[str]:
    if (
        not re.search(
            r"out of memory|\bOOM\b|memory leak|sin memoria|显存不足|메모리 부족|メモリ不足", sentence, re.IGNORECASE
        )
        or not errors
    ):
        return
    memory = [
        one
        for one in errors
        if "memory-allocation" in one.id or "out-of-memory" in one.id or "ALLOCATION" in one.message
    ]
    if _DENIES.search(sentence):
        if memory:
            yield f"“{sentence[:LONGEST]}”: the logs report that memory ran out (line {_line(memory[0])})."
        return
    if not memory and any(one.written and one.written.role in ("report", "fault") for one in errors):
        yield f"“{sentence[:LONGEST]}”: no line in the logs reports that memory ran out; the first error is: {errors[0].message}"
    for one in memory:
        numbers = _FREE.search(_text(one))
        if numbers and _bytes(numbers[1], numbers[2]) < _bytes(numbers[3], numbers[4]):
            asked, free = f"{numbers[1]} {numbers[2]}", f"{numbers[3]} {numbers[4]}"
            yield (
                f"“{sentence[:LONGEST]}”: the failed allocation asked for {asked} while {free} were free; "
                f"fragmentation or a limit refused it."
            )


def _about_tools(sentence: str, errors: Sequence[Finding]) -> Iterator[str]:
    xid = next((one for one in errors if one.id.startswith("log-xid")), None)
    if xid and re.search(
        r"\bno (?:errors?|xids?|messages?) in (?:dmesg|the kernel log)|dmesg (?:is|shows) (?:clean|nothing|empty)",
        sentence,
        re.IGNORECASE,
    ):
        yield f"“{sentence[:LONGEST]}”: line {_line(xid)} is such a message: {xid.message}"
    found = next(
        (one for one in errors if (one.written.format if one.written else "") in ("compute-sanitizer", "oclgrind")),
        None,
    )
    if found and re.search(
        r"(?:sanitizer|memcheck|oclgrind)\b.{0,60}\b(?:clean|nothing|no errors?|passes|fine)", sentence, re.IGNORECASE
    ):
        yield f"“{sentence[:LONGEST]}”: the pasted report of the tool has an error: {found.message}"


def _arithmetic(report: Report) -> Iterator[str]:
    for found in _PRODUCT.finditer(report.text):
        product = _product(found[1])
        if product != _number(found[2]):
            yield f"“{found[0]}”: {found[1]} is {product:,}."
    for one in dict.fromkeys(_FACTORS.findall(report.text)):
        product = _product(one)
        if product >= INT_LIMIT:
            yield f"{one} is {product:,}: it does not fit in a 32-bit index (2,147,483,647)."


def _number(text: str) -> int:
    return int(re.sub(r"[,_]", "", text)[:18] or "0")


def _product(text: str) -> int:
    product = 1
    for one in re.findall(r"\d[\d,_]*", text):
        product *= _number(one)
    return product


def _bytes(number: str, unit: str) -> float:
    return float(number) * UNITS.get(unit, 1)


def _asked(report: Report, explained: Explained) -> Iterator[str]:
    understood = [one for one in explained.findings if one.id != f"log-{NOT_UNDERSTOOD}"]
    if not understood:
        yield "the complete output of the failing run, from its first line"
    step = next(
        (one.written.next for one in understood if one.severity != "info" and one.written and one.written.next), ""
    )
    if step:
        yield f"the output of `{step}`"
    for what, pattern in NEEDED:
        if not pattern.search(report.text):
            yield what


def _line(finding: Finding) -> int:
    return finding.written.line if finding.written else 0


def _is_report(finding: Finding) -> bool:
    """Is it an asynchronous error, which the line only reports?"""
    return finding.written is not None and finding.written.role == "report"
