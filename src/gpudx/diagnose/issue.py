"""An answer to a pasted bug report: what its logs establish, what it only claims, what its numbers contradict, what to ask for.

The report is read like a log. Claims are sentences outside of code blocks and log lines that name a cause, a culprit or a
condition. Nothing is said about a claim that the logs do not settle, except that it is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpudx.diagnose.logs import Explained
from gpudx.evidence.reading import NOT_UNDERSTOOD, Log, Told, clean_line, is_prose
from gpudx.model import Finding

# Formats that read words, which people use too; names and numbers of errors mean the same wherever they are.
WORDED = ("gpu-words", "program-error", "unrecognised", "no-device", "kernel-build", "launcher", "tests", "device-lost")
MOST = 8  # entries of a list
MOST_TOGETHER = 3
Claim = tuple[str, str]  # a sentence of the report, and what the logs or numbers say about it
PROBE = "a probe that prints nothing shows something only if the program that ran contains it."
TOOLS = ("compute-sanitizer", "oclgrind")
KERNEL_LOGS = ("xid", "amdgpu", "gpu-kernel-driver", "kernel-module", "linux-kernel")
LONGEST = 240
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_CLAIM = re.compile(
    r"\bbecause\b|\bcaused? by\b|\bthe (?:bug|problem|issue|error|fault|crash) (?:is|comes|must|seems|lies|happens)\b|\bI (?:think"
    r"|believe|suspect|guess|assume)\b|\bprobably\b|\bseems? (?:to be|like)\b"
    r"|\bmust be\b|\bmemory leak\b|\brace condition\b|\bdriver bug\b|\bhardware\b|\bregression\b|\balways\b|\bnever\b|\bevery time\b"
    r"|\bonly (?:happens|occurs|fails)\b|\bworks? (?:fine )?(?:on|with)\b"
    r"|\b(?:is|are)\W{1,4}correct\b"
    r"|\b(?:nvidia|rocm|amd|xpu)-smi\b|\bonly in (?:release|debug|optimi[sz]ed)\b"
    r"|\bso the (?:driver|compiler|kernel|GPU)\b|\bmaybe\b"
    r"|\bfits?\b.{0,20}\b(?:u?int(?:32)?(?:_t)?|32[- ]?bit)\b|\bwe (?:allocate|reserve)\b"
    r"|\bout of memory\b|\bOOM\b|\bnull pointer\b|\bout[- ]of[- ]bounds\b|\bsanitizer\b.{0,40}\b(?:clean|nothing|no errors?)\b|\bno "
    r"(?:errors?|xids?) in dmesg\b|\bdmesg (?:is|shows) (?:clean|nothing)\b|\bis (?:wrong|broken|at fault|guilty)\b"
    r"|porque|causad[oa] por|debido a|culpa de|parece que|creo que|pienso que|sospecho|siempre"
    r"|因为|原因|越界|空指针|竞态|内存泄漏"
    r"|总是|应该是|可能是|认为|觉得|怀疑|导致|显存不足|有 ?bug|때문|원인|항상|아마|같습니다|생각|의심|메모리 부족"
    r"|ため|おそらく|必ず|毎回|と思|せい|メモリ不足"
    r"|範囲外|境界外|ヌルポインタ|メモリリーク|범위를? (?:벗어|초과)|널 포인터|경쟁 상태|메모리 누수"
    r"|fuera de (?:los )?l[íi]mites|puntero nulo|condición de carrera|fuga de memoria",
    re.IGNORECASE,
)
# Headings over claims, which claim nothing themselves.
_TITLE = re.compile(
    r"^\W*(?:\d+[.)]\s*)?(?:(?:possible|probable|likely|root|가능한|posibles?|可能的?|考えられる)\s*)*(?:causes?|cause analysis|원인(?:들)?"
    r"|原因(?:分析)?|causas?(?: ra[ií]z)?(?: m[aá]s probable)?|case \w+\W.{0,40})\W*$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*(#{1,6}) ")
# What stands under such a heading was not printed by a run.
_EXPECTED = re.compile(r"\bexpected\b|\bhypothetical\b|\besperad[oa]s?\b|예상|预期|期待され|想定", re.IGNORECASE)
# A probe that printed nothing: its silence says something only if the program that ran has it.
_SILENT_WORDS = (
    r"(?:\[\w+\]|wrappers?|probes?|instrumentation|sondas?)\b.{0,60}\b(?:did ?n[o']t|not|never|no)\b.{0,20}"
    r"(?:appear|fire|print|execut|invok|reach|ejecut|invocad)"
)
_SILENT = re.compile(_SILENT_WORDS, re.IGNORECASE)
_CLEAN_WORDS = r"((?:compute-)?sanitizer|(?:cuda-)?memcheck|oclgrind|valgrind)\b.{0,60}\b(?:clean|nothing|no errors?|passes|fine)"
_TOOL_CLEAN = re.compile(_CLEAN_WORDS, re.IGNORECASE)
_FIRST_PERSON = re.compile(
    r"\b(?:I (?:think|believe|suspect|guess|assume|have|am|get|see|use)|I'm|I've|my|our|we)\b(?!\W*[=:(])"
    r"|\bat fault because\b|것 같습니다"
    r"|我(?:认为|觉得|的)|と思い|creo que",
)
_SUBJECT = re.compile(r"^\W*(?:title|subject|제목|标题|標題|件名|タイトル|t[íi]tulo|asunto)\s*[:：]", re.IGNORECASE)
_RIGHT_KERNEL = re.compile(r"\bkernels?(?: itself| code)? (?:is|are|must be)\b.{0,12}\b(?:correct|right|fine|ok)\b"
    r"|\b(?:cannot|can not|can't|never) (?:be|go|read|write|access)\b.{0,12}\b(?:out[- ]of[- ]bounds|outside|past)", re.IGNORECASE)
# What can happen only after work has begun.
_RAN = re.compile(
    r"\brace(?: condition)?\b|\bdeadlock"
    r"|\bkernel\b.{0,30}\b(?:is|must be|seems)\b.{0,12}\b(?:broken|wrong|buggy|slow)|\bout[- ]of[- ]bounds"
    r"|竞态|경쟁 상태|越界",
    re.IGNORECASE,
)
_FITS = re.compile(r"\bfits?\b.{0,30}\b(?:u?int(?:32)?(?:_t)?|32[- ]?bit|unsigned)\b|\bno (?:integer )?overflow\b", re.IGNORECASE)
_GROUP = re.compile(r"\b(?:local|work[- ]?group|block)(?: work)?(?: size)?\W{1,3}(\d+(?:\s*[*x×,]\s*\d+){1,2})", re.IGNORECASE)
_MOST_GROUP = re.compile(r"max(?:imum)?[_ ]work[_ -]?group[_ ]size\W{1,4}(\d+)", re.IGNORECASE)
# What people conclude from such an observation, and what it shows instead.
REMARKS = tuple(
    (re.compile(pattern, re.IGNORECASE), remark)
    for pattern, remark in (
        (_SILENT_WORDS, PROBE),
        (
            r"LAUNCH_BLOCKING|\bserialis|\bserializ"
            r"|\bwith (?:a |an )?(?:extra )?(?:\w*DeviceSynchronize|clFinish|sync)",
            "waiting after each call changes the timing: that a failure goes away with it points to order or timing, and does not show "
            "that a kernel is right.",
        ),
        (
            r"\b(?:release|debug|optimi[sz]ed|-O[0-3]|-G)\b.{0,20}\bbuilds?\b|\bonly (?:in|with) (?:release|debug|-O)",
            "another build places memory and work differently: it can hide a wrong access as well as a fault of the compiler.",
        ),
        (
            r"\b(?:CPU|host) (?:version|code|reference|implementation|path)\b.{0,40}\b(?:right|correct|fine|works|same)",
            "a right result on the CPU shows nothing about accesses out of bounds, order or timing on the device.",
        ),
        (
            r"\bregression\b|\bsince (?:I |we )?(?:upgrad|updat)|\bworked (?:fine )?(?:before|until|with|on)\b"
            r"|\bworks (?:fine )?(?:on|with)\b",
            "that it began with a version, or not on another machine, does not show that the version is at fault: timing and memory change "
            "as well.",
        ),
        (
            r"\b(?:nvidia|rocm|amd|xpu)-smi\b.{0,60}\b(?:free|used|MiB|GiB|GB)\b",
            "such a tool shows one moment, and not that of the failed call.",
        ),
        (
            _CLEAN_WORDS,
            "that shows something only for the checks that ran, and only if the watched run would have failed.",
        ),
    )
)
_TAG = re.compile(r"\[(\w{3,60})\]")
# "RoPE Q launch failed: an illegal memory access": what was being checked when the error was noticed.
_CHECKED = re.compile(
    r"(?<![A-Za-z])([A-Z]\w*(?: [A-Z0-9]\w*){0,3}|(?:cuda|hip|cl)[A-Z]\w+(?: [A-Z0-9]\w*)?) (?:kernel |launch ){0,2}failed\b.{0,40}?"
    r"(?:illegal (?:memory )?(?:access|address)|unspecified launch failure|launch timed out|misaligned address)",
)
_CULPRIT = re.compile(
    r"root[ _]?cause|\bbug (?:is|lies)|\bfault\b|\bfalla\b|\bguilty\b|\bculprit\b|\bis (?:wrong|broken|upstream)\b|原因|원인",
    re.IGNORECASE,
)
_INSIDE = re.compile(r"(?:\b|_)((?:cl|cuda|hip)[A-Z][A-Za-z]{3,40}|cu(?:Launch|Mem|Module|Stream|Ctx)[A-Za-z]{2,40})")
_KERNEL_ACCESS = re.compile(
    r"\bkernel\b.{0,60}(?:out[- ]of[- ]bounds|illegal|invalid|bad) ?(?:memory )?(?:access|read|write|address)"
    r"|커널.{0,30}(?:메모리 접근|범위)|kernel.{0,40}(?:acceso ilegal|fuera de)|内核.{0,30}(?:越界|非法)|カーネル.{0,30}(?:範囲外|不正)",
    re.IGNORECASE,
)
_DECODED = re.compile(r"address 0x[0-9a-f]+ is ")
_NUMBER = re.compile(r"used as one \(([\d,]+)")
_MODEL = re.compile(r"[\w.-]+\.(?:gguf|safetensors)\b")
_TEST = re.compile(r"\b(test_\w+|\w+_test)\b")
_COPIES = re.compile(r"copy|memcpy|alloc|upload|download", re.IGNORECASE)
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
COMMAND, UNKNOWN = "the exact command that fails", "./app"
_SOMETIMES = re.compile(
    r"\b(?:sometimes|flaky|intermittent\w*|random(?:ly)?)\b"
    r"|\b\d[\d,]* (?:of|out of|in|/) \d[\d,]* (?:runs|times)|有时|偶尔|가끔|時々|a veces",
    re.IGNORECASE,
)
_WRITES = re.compile(r"sudo cp |.* > \S+$")
# What a reader of the report needs, and how it is recognised in the text.
NEEDED = (
    (
        COMMAND,
        re.compile(
            r"^\s*(?:\$|>|PS [A-Z]:|#)\s*\S|command(?: line)?\s*[:=]|`[\w./\\-]+(?: [^`\s]+)* -[^`]+`|\bpython3? \S+\.py|\./\w+",
            re.MULTILINE | re.IGNORECASE,
        ),
    ),
    (
        "the GPU model",
        re.compile(
            r"\b(?:(?:[1-5]0[5-9]0|[67][6-9]00)(?: ?(?:Ti|XTX?|Super))?s?\b"
            r"|RTX|GTX|Tesla|Quadro|A100|H100|H200|B200|L40S?|V100|T4|MI\d{2,3}X?|Radeon|Arc|Iris|Adreno|Mali"
            r"|gfx\d{3,4}|sm_\d{2,3}|GB?200|GeForce|Instinct|Apple M\d)"
            r"|(?:显卡|顯卡|그래픽 ?카드|グラボ|グラフィック\w*|tarjeta gráfica|(?<!\w)GPU) ?[:：=] ?\S",
            re.IGNORECASE,
        ),
    ),
    (
        "driver and toolkit versions",
        re.compile(
            r"driver(?: version)?\D{0,12}\d{2,4}\.\d|CUDA(?: version)?\D{0,6}1\d\.\d"
            r"|ROCm\D{0,6}\d\.\d|cuda[_-]?1\d|(?:드라이버|驱动|驅動|ドライバー?|controlador)\D{0,12}\d{3}",
            re.IGNORECASE,
        ),
    ),
    (
        "whether it fails every time, or how often",
        re.compile(
            r"\balways\b|every time|sometimes|random|intermittent|flaky|\bruns? \d+:|\d+ (?:of|out of) \d+"
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
        elif not fenced and (number not in log_lines or _of_person(line)) and not line.startswith(("    ", "\t")):
            prose.append(clean_line(line.encode()).strip(" #*>-"))
    sentences = (one.strip() for line in prose for one in _SENTENCE.split(line) if one)
    return Report(text, tuple(dict.fromkeys(one for one in sentences if one)))


def _of_person(line: str) -> bool:
    """Does a line outside of a log read like what a person writes: a heading, a sentence, a claim?"""
    return bool(_HEADING.match(line) or _SUBJECT.match(line) or _FIRST_PERSON.search(line)) or is_prose(clean_line(line.encode()).strip())


def without_prose(text: str, log: Log) -> Log:
    """What a person writes around a log is a claim, and establishes nothing: formats that read words leave it alone, and names of errors
    count there only in a report that has them nowhere else."""
    fenced, has_fences, lines, expected, said = False, bool(re.search(_FENCE.pattern, text, re.MULTILINE)), {0}, set(), set()
    level = 0  # of the heading over output that is only expected
    for number, line in enumerate(text.splitlines(), start=1):
        heading = None if fenced else _HEADING.match(line)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if _EXPECTED.search(line) else 0
        if level:
            expected.add(number)
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith(("    ", "\t")) and _of_person(line):
            said.add(number)
        elif fenced or not has_fences:
            lines.add(number)
    told = [one for one in log.told if one.event.line not in expected]
    printed = [
        replace(one, event=replace(one.event, line=at))
        for one in told
        for at in [_printed_at(one, said if one.event.format not in WORDED else None, lines)]
        if at
    ]
    named = [one for one in told if one.event.format not in WORDED]
    return replace(log, told=tuple(printed if any(not one.event.warning for one in printed) else named))


def _printed_at(one: Told, said: set[int] | None, lines: set[int]) -> int:
    """The first line known of an event that a program printed, 0 where there is none: for names one that no person wrote, else one of a
    log."""
    return next((at for at in (one.event.line, one.last) if (at not in said if said is not None else at in lines)), 0)


def answer(text: str, explained: Explained) -> str:
    """The answer as Markdown, ready to post."""
    lines = frozenset(_line(one) for one in explained.findings if one.id != f"log-{NOT_UNDERSTOOD}")
    report = split(text, lines)
    against = list(_contradicted(report, explained))
    refuted = {claim for claim, _ in against}
    claims = [
        (one, next((remark for pattern, remark in REMARKS if pattern.search(one)), ""))
        for one in report.sentences
        if (_CLAIM.search(one) or any(pattern.search(one) for pattern, _ in REMARKS))
        and not (_TITLE.match(one) or one.endswith((":", "：")))
        and one not in refuted
    ]
    parts = (
        ("Established by the logs", list(_established(report, explained))),
        ("Claimed, and not shown by the logs", list(_quoted(claims))),
        ("Claims that the logs or numbers contradict", list(_quoted(against))),
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


def _established(report: Report, explained: Explained) -> Iterator[str]:
    first = explained.diagnosis[0].summary if explained.diagnosis else ""
    standing = [one for one in explained.findings if one.severity != "info" and one.id != f"log-{NOT_UNDERSTOOD}"]
    for one in sorted(standing, key=lambda found: found.message != first):
        yield f"{one.message} (line {_line(one)})"
        yield from (f"Line {_line(one)}: {fact}." for fact in _decoded(one))
    places = _checked(report) if any(map(_is_report, explained.findings)) else {}
    if len(places) > 1:
        yield (
            f"The same error is reported at {' and at '.join(list(places)[:3])}: the first call that looks returns it, so that these "
            "may be one fault, and neither place is shown to be its cause."
        )
    for entry in explained.diagnosis[:1]:
        if entry.reason:
            yield entry.reason
    followers = sum(one.severity == "info" and bool(one.written and one.written.follows) for one in explained.findings)
    if followers:
        yield f"{followers} later message{'s' if followers > 1 else ''} only follow{'' if followers > 1 else 's'} from it."


def _decoded(finding: Finding) -> list[str]:
    """Numbers of an event that say more than its message."""
    return [one.text for one in finding.evidence if _DECODED.match(one.text)]


def _checked(report: Report) -> dict[str, int]:
    """What was being checked where an asynchronous error was noticed, with the first line: "RoPE Q", "hipMemcpy D2H"."""
    places: dict[str, int] = {}
    for number, line in enumerate(report.text.splitlines(), start=1):
        for found in _CHECKED.finditer(line):
            places.setdefault(found[1], number)
    return places


def _quoted(claims: Sequence[Claim]) -> Iterator[str]:
    """Claims with what is to be said about them; those about which the same is to be said together."""
    for reason in dict.fromkeys(why for _, why in claims):
        quotes = [f"“{claim[:LONGEST]}”" for claim in dict.fromkeys(one for one, why in claims if why == reason and one)]
        more = f" and {len(quotes) - MOST_TOGETHER} more" if len(quotes) > MOST_TOGETHER else ""
        if not reason:
            yield from quotes
        elif quotes:
            yield f"{'; '.join(quotes[:MOST_TOGETHER])}{more}: {reason}"
        else:
            yield reason


def _crashed_in(explained: Explained) -> str:
    """The call of a GPU interface in which the host process crashed; "" where none is named."""
    frames = (
        fact.text for one in explained.findings if "crash-in-call" in one.causes for fact in one.evidence if "frames" in fact.text
    )
    return next((found[1] for found in map(_INSIDE.search, frames) if found), "")


def _contradicted(report: Report, explained: Explained) -> Iterator[Claim]:
    found = list(_about_claims(report, explained))
    yield from (one for one in _arithmetic(report) if one[0] or not any(_same_number(one[1], why) for _, why in found))
    yield from found


def _same_number(one: str, other: str) -> bool:
    """Do two sentences say of the same number that it does not fit?"""
    return bool(re.search(r"\bis ([\d,]+): it does not fit", one)) and other.startswith(re.findall(r"is ([\d,]+): it does not fit", one)[0])


def _about_claims(report: Report, explained: Explained) -> Iterator[Claim]:
    errors = [one for one in explained.findings if one.severity == "error"]
    late = [one for one in explained.findings if _is_report(one)]  # also those that follow a fault
    crashed, places = _crashed_in(explained), _checked(report) if late else {}
    for sentence in report.sentences:
        call = _CALL.search(sentence)
        named = [one for one in late if call and (call[1] in one.message or call[1] in _text(one))]
        if call and named and _blames(sentence):
            yield (
                sentence, f"the error was left by earlier device work; {call[1]} only returned it "
                f"(line {_line(named[0])})."
            )
        elif call and late and not named and _blames(sentence) and not (_roles(errors) & {"fault", "refusal"}):
            yield (
                sentence,
                f"line {_line(late[0])} reports an error of earlier device work: the call that a stack trace shows is the first to notice "
                "it, and not shown to be its cause.",
            )
        yield from _about_place(sentence, places)
        if crashed and _KERNEL_ACCESS.search(sentence):
            yield (
                sentence, f"the process crashed in {crashed}, on the host; a GPU reports a kernel's bad access through the "
                "driver, and not as a signal in that call."
            )
        yield from _about_memory(sentence, errors)
        yield from _about_tools(sentence, errors)
        yield from _about_faults(sentence, errors)
        yield from _about_numbers(sentence, report.text, errors)


def _about_place(sentence: str, places: Mapping[str, int]) -> Iterator[Claim]:
    """A claim that what was being checked is the cause; calls are told apart elsewhere."""
    for place, line in places.items():
        word = place.split()[0]
        if not _CALL.search(word) and _CULPRIT.search(sentence) and re.search(rf"\b{re.escape(word)}\b", sentence):
            yield (
                sentence,
                f"line {line} shows only that the error was noticed at {place}; work that was submitted before may have caused it.",
            )


def _blames(sentence: str) -> bool:
    return bool(
        re.search(
            r"\b(?:in|is|caused?|fails?|crash\w*|bug|wrong|problem|guilty|fault)\b"
        r"|失败|错误|有问题|漏洞|오류|버그|문제|バグ|問題|\bfalla|\bcausa|no es v[aá]lido",
            sentence,
            re.IGNORECASE,
        )
    )


def _text(finding: Finding) -> str:
    return " ".join(one.text for one in finding.evidence)


def _about_memory(sentence: str, errors: Sequence[Finding]) -> Iterator[Claim]:
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
            yield sentence, f"the logs report that memory ran out (line {_line(memory[0])})."
        return
    if not memory and any(one.written and one.written.role in ("report", "fault") for one in errors):
        yield sentence, f"no line in the logs reports that memory ran out; the first error is: {errors[0].message}"
    for one in memory:
        numbers = _FREE.search(_text(one))
        if numbers and _bytes(numbers[1], numbers[2]) < _bytes(numbers[3], numbers[4]):
            asked, free = f"{numbers[1]} {numbers[2]}", f"{numbers[3]} {numbers[4]}"
            yield (
                sentence, f"the failed allocation asked for {asked} while {free} were free; "
                f"fragmentation or a limit refused it."
            )


def _about_faults(sentence: str, errors: Sequence[Finding]) -> Iterator[Claim]:
    """Claims about the kernel, a call or a rank, where the first error says what it was."""
    first = next((one for one in errors if one.written), None)
    if first is None or first.written is None:
        return
    call, line, role = _CALL.search(sentence), _line(first), first.written.role
    waited = re.match(r"Rank (\d+) waited", first.message)
    if waited and _blames(sentence) and re.search(rf"\brank {waited[1]}\b", sentence, re.IGNORECASE):
        yield (
            sentence, f"line {line} shows that rank {waited[1]} waited for another rank, which did not join; the output of the other "
            "ranks shows which one, and why."
        )
    elif role == "fault" and _RIGHT_KERNEL.search(sentence):
        yield sentence, f"line {line}: {first.message}"
    elif role == "fault" and call and _blames(sentence) and (first.access or "kernel" in first.message):
        yield sentence, f"line {line} reports a fault on the device, and {call[1]} is not what it names: {first.message}"
    elif role == "refusal" and _RAN.search(sentence):
        yield sentence, f"the first error is a refusal (line {line}): that call started no work on the device that could have failed so."


def _about_numbers(sentence: str, text: str, errors: Sequence[Finding]) -> Iterator[Claim]:
    """Numbers of a sentence that those of the logs, or the type that they are to fit in, contradict."""
    large = [number for number in map(_number, re.findall(r"\d[\d,_]{8,}", sentence)) if number >= INT_LIMIT]
    if large and _FITS.search(sentence) and not _DENIES.search(sentence):
        yield sentence, f"{large[0]:,} does not fit in a 32-bit index (2,147,483,647)."
    stated = [_number(one) for one in re.findall(r"(\d[\d,_]*) ?(?:bytes|B)\b", sentence)]
    sizes = {_number(found) for one in errors for found in re.findall(r"allocation of ([\d,]+) bytes", one.message)}
    if len(stated) == len(sizes) == 1 and set(stated) != sizes and re.search(r"alloc|reserv|malloc|buffer", sentence, re.IGNORECASE):
        one = next(one for one in errors if "allocation of" in one.message)
        yield sentence, f"line {_line(one)} shows an allocation of {sizes.pop():,} bytes."
    group, most = _GROUP.search(sentence), _MOST_GROUP.search(text)
    if group and most and _product(group[1]) > _number(most[1]):
        line = text.count("\n", 0, most.start()) + 1
        yield sentence, f"{group[1]} is {_product(group[1]):,}, and line {line} says that the device takes {_number(most[1]):,}."


def _about_tools(sentence: str, errors: Sequence[Finding]) -> Iterator[Claim]:
    logged = next((one for one in errors if one.written and one.written.format in KERNEL_LOGS), None)
    if logged and re.search(
        r"\bno(?:thing|ne)? (?:errors?|xids?|messages?)? ?in (?:the )?(?:dmesg|kernel log|journal)"
        r"|(?:dmesg|kernel log|journal) (?:is|shows|has|looks) (?:clean|nothing|empty|no )",
        sentence,
        re.IGNORECASE,
    ):
        yield sentence, f"line {_line(logged)} is such a message: {logged.message}"
    warned = next((one for one in errors if one.written and one.written.format in ("ptxas", "compiler")), None)
    if warned and re.search(r"\bbuild\b.{0,20}\bclean\b|\bclean build\b|\bcompiles? without (?:any )?warnings?", sentence, re.IGNORECASE):
        yield sentence, f"the compiler warned at line {_line(warned)}: {warned.message}"
    found = next(
        (one for one in errors if (one.written.format if one.written else "") in TOOLS),
        None,
    )
    if found and _TOOL_CLEAN.search(sentence):
        yield sentence, f"the pasted report of the tool has an error: {found.message}"


def _arithmetic(report: Report) -> Iterator[Claim]:
    for found in _PRODUCT.finditer(report.text):
        product = _product(found[1])
        if product != _number(found[2]):
            yield found[0], f"{found[1]} is {product:,}."
    for one in dict.fromkeys(_FACTORS.findall(report.text)):
        product = _product(one)
        if product >= INT_LIMIT:
            yield "", f"{one} is {product:,}: it does not fit in a 32-bit index (2,147,483,647)."


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
    named = {found for entry in explained.diagnosis[:1] for found in entry.findings}
    standing = sorted((one for one in understood if one.severity != "info"), key=lambda one: one.fingerprint not in named)
    step = next((one.written.next for one in standing if one.written and one.written.next), "")
    if _SOMETIMES.search(report.text):
        step = step.replace("gpudx run --stacks", "gpudx flake")
    if step:
        yield f"the file that `{step}` writes" if _WRITES.match(step) else f"the output of `{step}`"
    if crashed := _crashed_in(explained):
        yield f"the arguments of the {crashed} call that crashed; the calls that returned before it are not that one"
    if number := next((found[1] for one in understood for fact in _decoded(one) if (found := _NUMBER.search(fact))), ""):
        yield f"whether the program has a buffer or structure of {number} bytes: that size may have been used as a pointer"
    if any(one.id == "log-collective-timeout" for one in understood):
        yield "the output of all other ranks of that time: the one that did not join shows why"
    cleared = next(filter(None, map(_TOOL_CLEAN.search, report.sentences)), None)
    if cleared and not any(one.written and one.written.format in TOOLS for one in understood):
        yield f"the complete output of {cleared[1]}, with its options and its last lines"
    if silent := next((one for one in report.sentences if _SILENT.search(one)), ""):
        tag = _TAG.search(silent) or _TAG.search(report.text)
        yield f"the output of `strings PROGRAM | grep -F '{tag[1] if tag else 'TEXT OF THE PROBE'}'`, of the program that ran"
    if (model := _MODEL.search(report.text)) and any(_is_report(one) for one in understood):
        yield f"the dimensions that {model[0]} contains, and the sizes of the buffers that the program allocated"
    yield from _unexplained_test(report, understood)
    for what, pattern in NEEDED:
        if not pattern.search(report.text) and not (what == COMMAND and step.startswith("gpudx ") and UNKNOWN not in step):
            yield what


def _unexplained_test(report: Report, understood: Sequence[Finding]) -> Iterator[str]:
    """A cause in kernels does not explain a test that only copies memory."""
    tests = list(dict.fromkeys(_TEST.findall(report.text)))
    copies = [one for one in tests if _COPIES.search(one)]
    failed = any(one.written and one.written.format == "tests" for one in understood)
    blamed = any(_CULPRIT.search(one) and "kernel" in one.lower() for one in report.sentences)
    if failed and blamed and copies and len(tests) > len(copies):
        yield f"whether the claimed cause explains `{copies[0]}` as well, which by its name launches no kernel"


def _roles(findings: Sequence[Finding]) -> set[str]:
    return {one.written.role for one in findings if one.written}


def _line(finding: Finding) -> int:
    return finding.written.line if finding.written else 0


def _is_report(finding: Finding) -> bool:
    """Is it an asynchronous error, which the line only reports?"""
    return finding.written is not None and finding.written.role == "report"
