"""What a program says about its own failure, in its own words: wrong results, exceptions, missing files, operations that failed.

Read where no other format finds anything in a line. A check that found NaN or a difference, or an exception by its name, shows that the
program failed and what it said. Other lines are sorted by what they say happened, whatever program wrote them; they are shown only where
nothing else in the log says more. The cause may lie anywhere: nothing is blamed on the device.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next, gpu_words, unrecognised
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import without_sources
from gpudx.evidence.logs._statuses import numbered
from gpudx.evidence.logs.gpu_status import codelike

FORMAT = "program-error"
GENERIC = 3
ANY_CASE = True
MARKS = unrecognised.MARKS
MOST_READ = 10_000
LONGEST = 160
FIRST_NUMBER = 100  # of CUDA's errors that are not mistaken for another program's
EXCEPTION, FAILURE = "exception", "gpu-failure"
WORDS = "program-"  # how the kinds of what a program says in its own words begin
OVERFLOW = "Gradients were too large for half precision, and the program skipped a step: usual at first, but not for long."
_SCALE = re.compile(r"\bgrad\w*[ -]overflow|overflow detected|overflow!.{0,60}loss scale|loss scale.{0,40}overflow", re.IGNORECASE)
SMALLEST = "Gradients were NaN or infinite even at the smallest loss scale, and the program gave up."
_SCALE_END = re.compile(r"loss scale (?:is )?already at minimum|minimum loss scale reached", re.IGNORECASE)
_NAN = re.compile(
    r"(?:\bnan\b[\s,;]+){2}|^\s*[\w/().-]{2,40}(?: [\w/().-]{1,40}){0,3} ?[:=] ?[-+]?nan\b(?!\w)"
    r"|^(?:[-+]?[\d.]+(?:e[-+]?\d+)? ){2,40}(?:nan|[-+]?inf(?:inity)?)\b|\b(?:loss|grad_?norm|energy|score"
    r"|ppl|perplexity)\W{1,3}(?:nan|-?inf)\b|"
    r"\b(?:is|are|was|were|became|becomes|contains?|found|has|have|got|detected|returned|produced|with|to|loss[ =:]+)\s+(?:an? )?"
    r"(?:NaNs?|infs?|infinity|non-?finite)\b|\b(?:NaNs?|non-?finite|infinite) (?:values?|loss|gradients?|grads?|found|detected|"
    r"encountered|energy|in)\b|\bnot-a-number generated\b|\bnans? (?:or|and) infs?\b",
    re.IGNORECASE,
)
_DIFFERS = re.compile(
    r"\b(?:got|actual|was|computed|have)\W{1,4}(?:[-+.\d]|nan|inf).{0,60}\b(?:expected|want(?:ed)?|should be|reference)\b"
    r"|\bexpected\b.{1,60}\b(?:got|actual|was|found|received)\W{1,4}(?:[-+.\d]|nan|inf)|\b(?:results?|outputs?|values?|arrays?|tensors?"
    r"|images?|hash(?:es)?"
    r"|checksums?) (?:do(?:es)? not|don't|doesn't|did not|are not|mis-?)\s?(?:match|agree|equal|close)\w*"
    r"|\b(?:verification|validation|self[- ]?test|correctness|comparison|sanity) (?:check )?(?:has )?(?:failed|error|FAIL)"
    r"|\b(?:wrong|incorrect|mismatch(?:ed|ing)?) (?:results?|outputs?|values?|answers?|elements?|at|in|hash|checksum)\b"
    r"|\b(?:result|output|value|checksum|hash|data) mismatch\b|\bresult\w* \w* ?(?:incorrect|wrong)\b"
    r"|\b(?:error|mismatch|differ\w*|wrong|fail\w*)\b.{0,80}\*?(?:0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?) (?:vs\.?|!=) "
    r"\*?-?(?:0x[0-9a-f]|\d|nan|inf)",
    re.IGNORECASE,
)
# GpuOwl and its relatives write EE in the place of OK in the line of a check that failed.
MARKED = re.compile(r"(?:^|\d +)EE +\d.*(?:%|\bcheck\b|\b[mu]s/|\bETA\b)|(?:^|\d +)EE +\d{3}")
_MAY = re.compile(r"\b(?:known to|may|might|can|could|leads? to|leading to)\b.{0,80}\b(?:wrong|incorrect)\b", re.IGNORECASE)
# Java, .NET, Python, C++ and JavaScript name the type of an exception, and then its text.
_EXCEPTION = re.compile(
    r"(?:^|[\s\[(:'\"])((?:[A-Za-z_]\w{0,60}(?:\.|::)){0,8}[A-Z]\w{0,60}?(?:Error|Exception|Failure)"
    r"|(?:[A-Za-z_]\w{0,60}\.){1,8}(?:Error|Exception))(?: ?\(\w+\))?:(?: ?(\S.*)|\s*$)"
)
# Elixir: "** (RuntimeError) text", and the same as a value.
_ELIXIR = re.compile(
    r"\*\* \(((?:[A-Z]\w*\.)*[A-Z]\w*(?:Error|Exception))\) ?(\S.*)|%((?:[A-Z]\w*\.)*[A-Z]\w*(?:Error"
    r"|Exception))\{.{0,60}?message: \"([^\"]+)"
)
_JAVA = re.compile(r"(?:^|[\s:])((?:[a-z]\w{0,40}\.){2,8}[A-Z]\w{0,60}(?:Error|Exception))\s*$")  # without a text

_AT = re.compile(r"^\s+at:? (\S.*?\([^()]+:\d+\))")  # Godot and others: where an error was found is in the next line
_FAILED = re.compile(
    r"\bfail(?:ed|ure|s)?\b|\berrors?\b(?! (?:check|handl|report|correct|code[s ]|log|rate|messages? (?:are|is)))|fatal|\babort|crash"
    r"|\bfault|panic|exception|unsuccessful|\brefused\b|\brejected\b|\blost\b|not supported|unsupported"
    r"|\b(?:unable to|cannot|can't|could ?n.t|could not)\b",
    re.IGNORECASE,
)
# How lines describe what happened, from the most specific to "failed". None needs a GPU, and none claims one.
CLASSES = tuple(
    (kind, re.compile(words, re.IGNORECASE), means, command)
    for kind, words, means, command in (
        (
            "wrong-order",
            r"\bmust (?:first )?be (?:called|set|created|initiali[sz]ed|done|allocated|bound) (?:first|before|prior)|\bcalled (?:illegally"
            r"|too early|too late|out of order)|\b(?:should|must) (?:not|never) be called\b|\bwithout (?:first )?(?:calling"
            r"|having called)\b",
            "A call was made in an order or a state in which it is not allowed",
            _next.RECORD,
        ),
        (
            "not-permitted",
            r"permission denied|access (?:is |was )?denied|not permitted|\bEACCES\b|\bEPERM\b|unauthori[sz]ed|forbidden|not allowed",
            "The program was not allowed to do something",
            _next.DOCTOR,
        ),
        (
            "no-memory",
            r"^(?!.*static TLS).*?(?:out of (?:\w+ ){0,3}memory|(?:cannot|can't|could ?n.t|could not|failed to|unable to|fail\w* \w*) "
            r"(?:re)?alloc\w*|bad_alloc|\bENOMEM\b"
            r"|not enough (?:\w+ ){0,4}memory|insufficient memory|alloc\w* (?:\w+ ){0,3}failed|no space left)",
            "The program ran out of memory or space",
            _next.RECORD,
        ),
        (
            "connection",
            r"connect\w*\b.{0,60}(?:fail|refused|reset|lost|closed|timed|error|abort)|(?:fail|error|unable|could not).{0,40}\bconnect\w*"
            r"|broken pipe|\bsocket\b.{0,60}(?:fail|error|closed)|\brpc\b.{0,40}(?:fail|error)|peer.{0,40}(?:closed|reset|unreachable)"
            r"|(?:network|host) (?:is )?unreachable",
            "A connection to another process or machine failed",
            _next.RECORD,
        ),
        (
            "timed-out",
            r"timed[ -]?out|超时|タイムアウト|시간 초과|exceeded (?:\w+ ){0,3}time limit|time limit (?:was |has been )?exceeded"
            r"|\btime-?out(?![\w-]| ?[=:(]? ?\d)|\bhang(?:s|ed|ing)?\b|\bhung\b|\bstuck\b|\bstalled\b|\blockup\b|(?:not|stopped) respond"
            r"|no response|deadlock"
            r"|watchdog|giving up|no progress",
            "Something did not finish in time",
            _next.HANG,
        ),
        (
            "versions",
            r"version.{0,60}(?:mismatch|incompatible|too old|not support|required|conflict|unsupported)|(?:mismatch|incompatible"
            r"|unsupported)"
            r".{0,40}version|\btoo old\b"
            r"|\bis older than \d|compiled (?:for|with) .{0,60}(?:but|while)|built (?:for|with) .{0,60} but|\bABI\b.{0,40}mismatch"
            r"|conflicts? with|registered more than once",
            "Two versions do not fit together",
            _next.DOCTOR,
        ),
        (
            "no-device",
            r"\bno (?:\w+ ){0,3}devices?\b(?! memory)|(?:find|found|detect\w*|see) (?:any|an?|the|no) (?:\w+ ){0,3}devices?\b"
            r"|\b(?:device|camera|sensor|adapter|card|gpu)s? (?:is |was |are |were )?not (?:found|detected|usable|present"
            r"|connected)|attach to (?:the )?device|no such device",
            "No usable device was found",
            _next.DOCTOR,
        ),
        (
            "part-missing",
            r"not found|\bnot exists?\b|not registered|未找到|找不到|見つかりません|찾을 수 없|nicht (?:gefunden|finden"
            r"|geladen)|introuvable"
            r"|не найден|no such (?:file|element|device|module|library|symbol)|does ?n.t exist|do(?:es)? not exist"
            r"|cannot open shared object"
            r"|(?:cannot|can't|could ?n.t|could not|unable to|failed to) (?:locate|open|load|import|resolve|access|stat|find "
            r".{0,60}(?:file|librar|module|symbol|header|package|command|executable|path|driver|plugin|device|kernel|\\.so|\\.dll))\b"
            r"|\bmissing\b"
            r"|error (?:while )?loading|\bdlopen|undefined (?:symbol|reference|function|variable|name|identifier)|not (?:installed"
            r"|defined)\b"
            r"|unresolved|not set in the environment|not be opened|unrecogni[sz]ed (?:option|argument|command)|load\w* failed",
            "A file, library, symbol or setting that the program needs is missing or could not be loaded",
            _next.DOCTOR,
        ),
        (
            "build-failed",
            r"^make(?:\[\d+\])?: \*\*\*|^\s*FAILED: \S+\.(?:o|obj|so|a|dll|exe|cubin)\b|failed building|recipe for target|ninja: build "
            r"stopped|(?:build|compil\w+|link\w*)\b.{0,40}\b(?:failed|failure"
            r"|error)"
            r"|failed to (?:build|compile|link)|error: command .{0,200} failed",
            "A build step failed",
            _next.DOCTOR,
        ),
        (
            "not-supported",
            r"not (?:currently |yet )?supported|不支持|지원되지|nicht unterstützt|unsupported|does ?n.t support|not implemented"
            r"|unimplemented|not available|unavailable"
            r"|built without|not provided"
            r"|without an? \w+ (?:backend|context|device|driver)|incompatible|not compatible",
            "Something is not supported or not available here",
            _next.DOCTOR,
        ),
        (
            "errors-counted",
            r"\berrors[ :=]{1,3}(?:0 - )*-?[1-9]\d*(?: - -?\d+)*\b(?![.\d])|\btotal errors?[ :=]{1,3}(?:0x0*)?[1-9a-f]"
            r"|\b[1-9]\d* errors? (?:found|detected)"
            r"|\berrors? found\b",
            "The program counted errors",
            _next.RECORD,
        ),
        (
            "busy",
            r"resource busy|resource temporarily unavailable|\b(?:is|are|was|already) (?:busy|in use)\b|\bEBUSY\b",
            "Something is in use by another program, or is not done yet",
            _next.RECORD,
        ),
        (
            "not-started",
            r"(?:fail\w*|unable|cannot|can't|could ?n.t|could not|error).{0,40}\b(?:initiali[sz]\w*|init|start|launch|creat\w*|set ?up"
            r"|register"
            r"|activate|enable|configure|prepare|negotiat\w*)|\b(?:initiali[sz]\w*|init|start-?up|creation|set-?up"
            r"|config\w*)\b.{0,40}\bfail"
            r"|not (?:been )?initiali[sz]ed|not-negotiated",
            "Something could not be created or started",
            _next.RECORD,
        ),
        (
            "process-gone",
            r"crash(?:ed|es)?\b|\baborted\b|\baborting\b|\bkilled\b|\bdied\b|core dump|minidump|segfault|terminat(?:ed|ing)\b|stopped "
            r"working"
            r"|\bpanic|fatal",
            "A process crashed, aborted or was stopped",
            _next.RECORD,
        ),
        (
            "data-damaged",
            r"corrupt|malformed|truncated|checksum|bad magic|invalid (?:\w+ ){0,2}(?:header|signature|magic)|\bdamaged\b|overflow",
            "Data is damaged, or has another format than expected",
            _next.RECORD,
        ),
        (
            "not-converged",
            r"\b(?:not|n't|never) converged?\b|\bdiverged\b|\blost atoms\b",
            "A computation did not converge, or left what is physical",
            _next.INVESTIGATE,
        ),
        (
            "index-out-of-range",
            r"\bind(?:ex|ices)\b.{0,60}\bout[- ]of[- ](?:bounds|range)|\bout[- ]of[- ](?:bounds|range)\b"
            r".{0,40}\b(?:index|indexing|array|subscript)",
            "An index is outside the array that it indexes",
            _next.INVESTIGATE,
        ),
        (
            "input-refused",
            r"\b(?:invalid|illegal|bad|wrong|incorrect|unexpected|unknown|unrecogni[sz]ed)\b(?! errors?\b)|out of (?:range|bounds)|too "
            r"(?:large|small|long|short|big|high|low|many)|(?:does|do|did|is|are)(?: not|n't) match|inconsistent|misaligned"
            r"|exceed(?:s|ed)\b|\boutside\b|mismatch|expected\b|rejected|refused",
            "Something was refused as invalid or unexpected",
            _next.RECORD,
        ),
        (
            "exception",
            r"\bexception\b|\btraceback\b|\bbacktrace\b|unhandled|uncaught|异常",
            "The program reported an exception",
            _next.RECORD,
        ),
        (
            "failed",
            r"错误|失败|失敗|エラー|오류|실패|无法|できません|\bno se p(?:udo|uede)\b|\bfall[oó]\b|\bfehler\b|\bне удалось|\bошибка",
            "The program reported a failure",
            _next.RECORD,
        ),
    )
)
# An exception of a general type that says that memory was refused.
_NO_MEMORY = re.compile(r"\b(?:failed to|could not|cannot|unable to) allocate (?:\w+ ){0,3}memory\b", re.IGNORECASE)
# What a line with the same words reports is no failure of the program: a level that is not of errors, a question, a plan.
_MILD = re.compile(
    r"\bINFO\b(?!.*\b(?:FAILED|ERROR|FATAL)\b)|\bDEBUG\b|\bTRACE\b|\bNOTE\b|(?:Runtime|User|Deprecation|Future)Warning:|\(II\)"
    r"|^\s*(?:\+\+\+|---) [ab]/|(?<!be )\benabled\b"
    r"|expected while|is expected"
    r"|no \w+ (?:error|fail)|\?\s*$|fall(?:ing)? ?back"
    r"|\bNET/|\bignor(?:ed|ing)\b|\bskip(?:ped|ping)\b|\bnone found\b"
)
_NUMBER = re.compile(r"\b(?:error|err|errno|code|status|returned?|result|rc|ret)\b[ :=#(]{0,4}(?:code[ :=#(]{0,3}|no\.? ?)?(-?\d{1,10}"
                     r"|0x[0-9a-f]{2,16})\b", re.IGNORECASE)
# What failed, by a name of the program's code: "hexagon_nn_config failed", "Session::open() failed".
_OPERATION = re.compile(
    r"\b((?:[A-Za-z_]\w*::)*(?:[A-Za-z]\w{0,80}_\w{1,80}|[a-z]+[A-Z]\w*|\w+(?=\())(?:\([^()]{0,60}\))?)\W{1,4}(?:[a-z]+ ){0,2}(?:has |have "
    r")?(?i:fail(?:ed|ure|s)?)\b"
)
# What a line says was tried: "Failed to open session 0", "Error while filtering: ...".
_TRIED = re.compile(
    r"(?:^|[\]:>)|] ?)\s*(?:[Ff]ailed to|FAILED to|[Uu]nable to|[Cc]ould(?: not|n't)|[Cc]annot|[Cc]an't)"
    r" (?P<verb>[a-z]+ (?:[^.;]|[.](?=\w)){2,80})"
    r"|\b[Ee]rror (?P<place>(?:on|in|at|with|while|during|when) (?:[^.;:]|[.:](?! |$)){3,80}|[a-z]{3,20}ing [^.;:]{3,60})"
    r"|\b(?:[Nn]on-?zero|[Ee]rror|[Ff]ail\w*|[Ee]xception)\b[^.;:]{0,40}? (?P<during>while [a-z]{3,20}ing [^.;:]{3,60})"
)
_STATUS = re.compile(r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:ERR|ERROR)_(?P<rest>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*))\b")
# Of an interface that has other names, where the line says that it is a status: "failed with status HAILO_RPC_FAILED(77)".
_NAMED_STATUS = re.compile(
    r"(?i:\b(?:status|error|code|result|returned|reason|with|due to|fail\w*)\b(?: code| is)?)[ :=(]{1,4}"
    r"(?P<name>[A-Z][A-Z0-9]*_(?P<rest>[A-Z0-9_]*(?:FAIL|INVALID|ERR|TIMEOUT|TIMED_OUT|NOMEM|NO_|LOST|UNSUPPORTED|NOT_|DENIED|MISMATCH|UNKNOWN"
    r"|ABORT|FAULT|OVERFLOW|EXCEED|OUT_OF|UNAVAILABLE|BAD|ILLEGAL|WRONG|BUSY|EXHAUSTED)[A-Z0-9_]*))\b(?:\((?P<number>-?\d{1,9})\))?"
)
# "Executing pipeline terminate failed with status 7": what failed, without a name of code.
_PHRASE = re.compile(
    r"(?:^|[\]:>)|] ?)\s*([A-Za-z][\w./-]*(?: [\w./()'-]+){0,7}) (?:has |have )?(?i:fail(?:ed|s)|failure)(?=[.,;:!]|$| \("
    r"| (?:with|in|on|at|for|after|during|due)\b)"
)
_OS_ERROR = re.compile(r"\b([A-Z][a-z]+(?: [\w/-]+){0,6}) \(os error \d+\)")  # Rust
_JSON = re.compile(r"^[\s{,]*\"(status|state|result|outcome|error|message|reason)\"\s*:\s*\"([^\"]*\b(?i:error|fail\w*|fatal|crash\w*"
                   r"|timeout|unable|cannot|not found|denied)\b[^\"]*)\"")
_KERNEL_LINE = re.compile(r"^\s*\[ *\d+\.\d{3,6}\]|\bkernel: ")
_CALM = re.compile(r"\bINFO\b|\bDEBUG\b|\bTRACE\b|expected while|is expected|\benabled?\b|registered|\bno \w+ (?:error|fail)")


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if not unrecognised.reads_like_a_failure(text) or codelike(text):
        return
    if found := _JSON.search(text):
        yield replace(_event(f"{WORDS}status", f"The program reported {found[1]}: {found[2][:LONGEST]}.", text), warning=True)
        return
    if unrecognised.is_code(text) and not _ELIXIR.search(text):
        return
    if unrecognised.leads_on(text, near):
        return
    said = text[:LONGEST].rstrip(".:!")
    if _SCALE_END.search(text):
        yield _event("result-not-finite", SMALLEST, text, _next.INVESTIGATE)
    elif _SCALE.search(text):
        yield replace(_event("gradients-overflowed", OVERFLOW, text), warning=True)
    elif unrecognised.is_advice(text):
        return
    elif _NAN.search(text):
        yield _event("result-not-finite", f"The program found NaN or infinite values in its data: {said}.", text, _next.INVESTIGATE)
    elif MARKED.search(text) or (_DIFFERS.search(text) and not _MAY.search(text)):
        yield _event("result-differs", f"The program's own check found a wrong result: {said}.", text, _next.INVESTIGATE)
    elif found := _JAVA.search(text):
        yield _event(EXCEPTION, f"The program raised {found[1]}.", text)
    elif found := _EXCEPTION.search(text):
        why = f": {found[2][:LONGEST].rstrip('.')}" if found[2] else ""
        if _NO_MEMORY.search(text):
            yield _event(f"{WORDS}no-memory", f"The program got no memory ({found[1]}): {_clause(text)}.", text)
            return
        yield _event(EXCEPTION, f"The program raised {found[1]}{why}.", text)
    elif found := _ELIXIR.search(text):
        why = (found[2] or found[4])[:LONGEST].rstrip(".:")
        yield _event(EXCEPTION, f"The program raised {found[1] or found[3]}: {why}.", text)
    elif text.startswith("ERROR: ") and (at := next(filter(None, map(_AT.match, near.after(1))), None)):
        yield _event(EXCEPTION, f"The program reported an error in {at[1][:LONGEST]}: {text[7:LONGEST].rstrip('.')}.", text)
    elif gpu_words.names_gpu(text) and _FAILED.search(text) and not _CALM.search(text) and not _MAY.search(text):
        event = _event(FAILURE, f"The GPU software reported a failure, and the line does not say which: {said}.", text)
        yield replace(event, warning=unrecognised.goes_on(text))
    elif not unrecognised.is_prose(text) and not _MILD.search(text):
        yield from _in_words(text, said)


def _clause(text: str) -> str:
    """The part of a long line that speaks of memory."""
    found = _NO_MEMORY.search(text)
    return text[found.start() :][:LONGEST].rstrip(" .;") if found else text[:LONGEST]


def is_weak(kind: str) -> bool:
    """Does an event of this kind say less than what other formats read, so that it is shown only where those read nothing?"""
    return kind in (EXCEPTION, FAILURE) or kind.startswith(WORDS)


def _in_words(text: str, said: str) -> Iterator[Event]:
    """What happened, by the words of the line alone."""
    if found := _STATUS.search(text) or _NAMED_STATUS.search(text):  # it says what it means: QNN_GRAPH_ERROR_INVALID_OP_CONFIG
        named = found.groupdict()
        name = named.get("name") or found[1]
        number = f", {named['number']}" if named.get("number") else ""
        what = named["rest"].replace("_", " ").strip().lower()
        event = _event(f"{WORDS}status", f"The program reported {name} ({what}{number}): {said}.", text)
        yield replace(event, warning=True)
        return
    bare = without_sources(text)
    system = _OS_ERROR.search(bare)  # what the system answered says more than the words around it
    if system and any(words.search(system[1]) for _, words, _, _ in CLASSES):
        bare = system[1]
    for kind, words, means, command in CLASSES:
        if words.search(bare):
            step = _next.DMESG if _KERNEL_LINE.search(text) else command
            event = _event(f"{WORDS}{kind}", f"{means}: {said}.", text, step)
            yield replace(event, warning=True, notes=(*_number(text), *event.notes))
            return
    what = _operation(text, said)
    if what:
        event = _event(f"{WORDS}operation-failed", f"The program {what}.", text)
        yield replace(event, warning=True, notes=(*_number(text), *event.notes))


def _operation(text: str, said: str) -> str:
    """What failed, and the number of the error, where the line names one of them."""
    number = _NUMBER.search(text)
    number = None if number and number[1].strip("-0x") == "" else number
    code = f" with error {number[1]}" if number else ""
    if found := _OPERATION.search(text):
        return f"reported that {found[1]} failed{code}: {said}"
    if found := _TRIED.search(text):
        where = (found["place"] or found["during"] or "").strip(" !")
        return f"could not {found['verb'].strip(' !:')}" if found["verb"] else f"reported an error {where}"
    if found := _PHRASE.search(text):
        return f"reported that {found[1].strip()} failed{code}: {said}"
    return f"reported that an operation failed{code}: {said}" if number else ""


def _number(text: str) -> Iterator[str]:
    """What the number of an error can mean: Linux in lines of its kernel, CUDA and HIP elsewhere."""
    found = _NUMBER.search(text)
    if found is None or found[1].lower().startswith("0x"):
        return
    code = int(found[1])
    if code < 0 and _KERNEL_LINE.search(text) and -code in errno.errorcode:
        yield f"in the Linux kernel, {code} is {errno.errorcode[-code]} ({os.strerror(-code)})"
    elif code >= FIRST_NUMBER and (status := numbered(code)):
        yield f"if it is an error of CUDA or HIP, {code} means: {status.meaning}"


def _event(kind: str, message: str, text: str, command: str = _next.RECORD) -> Event:
    notes = () if kind == FAILURE else ("not proved: that the GPU has anything to do with it",)
    return Event(kind, "ending", message, (("said", unrecognised.shape(text)),), notes, next=command, sure=False)
