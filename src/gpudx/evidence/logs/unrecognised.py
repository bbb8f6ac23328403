"""Lines that read like a failure and that no format knows. They are shown only if nothing else was recognised in the log.
Nothing is claimed about them: they are what a person would read first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gpudx.evidence.logs._event import NOT_UNDERSTOOD, Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.gpu_status import codelike

FORMAT = "unrecognised"
GENERIC = 3
ANY_CASE = True
MARKS = (
    "error",
    "fail",
    "fatal",
    "fault",
    "abort",
    "crash",
    "exception",
    "panic",
    "assert",
    "timeout",
    "timed out",
    "time out",
    "hang",
    "hung",
    "stuck",
    "deadlock",
    "corrupt",
    "invalid",
    "illegal",
    "unable to",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "not found",
    "denied",
    "killed",
    "violation",
    "out of memory",
    "out of range",
    "overflow",
    "mismatch",
    "wrong",
    "incorrect",
    "nan ",
    " nan",
    "backtrace",
    "not support",
    "unsupported",
    "missing",
    "unavailable",
    "too many",
    "call returned",
    "traceback",
    "unhealthy",
    "not enough",
    "insufficient",
    "compatible",
    "lost",
    "dead",
    "unrecoverable",
    "not respond",
    "unresponsive",
    "unsuccessful",
    "stopped",
    "terminat",
    "refused",
    "reject",
    "unexpected",
    "undefined",
    "unrecogni",
    "no such",
    "segfault",
    "bad ",
    "bad_",
    "problem",
    "broken",
    "malformed",
    "truncated",
    "died",
    "not available",
    "not initiali",
    "not implemented",
    "not allowed",
    "not permitted",
    "not linked",
    "no available",
    "ee  ",
    "returned -",
    "returns -",
    "ret=-",
    "ret -",
    "ret = -",
    "ret: -",
    "rc=-",
    "rc -",
    "rc = -",
    "err=-",
    "err = -",
    "err: -",
    "errno",
    "critical",
    "faulty",
    "reported problems",
    " ee ",
    "_reset",
    "been reset",
    "was reset",
    "not set in",
    "without an ",
    "lockup",
    "stalled",
    "exceed",
    "too large",
    "too small",
    "too old",
    "too long",
    "too short",
    "too big",
    "too high",
    "too low",
    "exhausted",
    "inaccessible",
    "unreachable",
    "fallen off",
    "disappeared",
    "overheat",
    "frozen",
    "abnormal",
    "inconsistent",
    "unresolved",
    "misaligned",
    "not match",
    "n't match",
    "-ei",
    "-eno",
    "-ebusy",
    "-efault",
    "-etime",
    "-eperm",
    "-eacces",
    "core dump",
    "minidump",
    "giving up",
    "unknown ",
    "conflict",
    "watchdog",
    "not defined",
    "no response",
    "oops",
    "failing",
    "built without",
    "not provided",
    "outside",
    "improperly",
    "nonfinite",
    "non-finite",
    "infinity",
    "_err_",
    "expected",
    "#0",
    "错误",
    "失败",
    "崩溃",
    "エラー",
    "失敗",
    "오류",
    "실패",
    "fallo",
    "fehler",
    "ошибка",
    "未找到",
    "找不到",
    "超时",
    "无法",
    "不支持",
    "异常",
    "見つかりません",
    "できません",
    "タイムアウト",
    "찾을 수 없",
    "시간 초과",
    "지원되지",
    "no se p",
    "nicht ",
    "introuvable",
    "не удалось",
    "не найден",
    "not exist",
    "is not set",
    "is not bound",
    "not enabled in",
    "n't exist",
    "not registered",
    "not usable",
    "n't usable",
    "not valid",
    "unusable",
    "is not a function",
    "no space left",
    "impossible to",
    "refusing to",
    "bailing out",
    "exiting ",
    "converge",
    "lost atoms",
    "bug:",
)
MOST_READ = 4000
_BAD = re.compile(
    r"(?-i:(?<![a-z])error|Error|ERROR)|fail(?:ed|ure|s|ing)?\b|fatal|(?<!de)fault(?:s|ed|ing)?\b|abort|crash|exception|panic"
    r"|assert(?:ion)?(?:s|ed)?|time(?:d )?-?out|\b(?:preemption|request|read|write|wait|fence|ring|queue) time out\b"
    r"|\bhangs?\b|\bhanging\b|\bhung\b|\bstuck\b"
    r"|deadlock|corrupt|\binvalid\b|\billegal\b"
    r"|unable to|\bcan(?:not|'t)\b|could(?: not|n't)|not found|denied|killed|violation|out of (?:memory|range|bounds)"
    r"|overflow|mismatch"
    r"|wrong|incorrect|\bnan\b|backtrace|not support(?:ed)?\b|unsupported|\bmissing\b|unavailable|too many|unhealthy"
    r"|\b(?:is|was|been|device|gpu|context|connection|adapter)[ -]lost\b(?!\W+(?:callback|handler|event|reason|promise))"
    r"|\blost (?:the )?(?:device|gpu|context|connection)|\bdead\b|\bunrecoverable\b"
    r"|unsuccessful|(?:not|stopped|no longer) respond\w*|unresponsive|\bterminated (?:by|after|with|ab|un|due)|\brefused\b|\brejected\b"
    r"|\bunexpected(?:ly)?\b|\bundefined (?:symbol|reference|behaviou?r|variable)|unrecogni[sz]ed|no such (?:file|device)|segfault"
    r"|\bbad (?:address|file|alloc|argument|parameter|state|magic|value|command|request|data|pointer|page)|\bbad_alloc"
    r"|\bgot .{1,40}expected|expected .{1,40}(?:got|actual|but)"
    r"|\bproblems? (?:with|in|on|while|when|creating|loading|initiali)|\b(?:is|are|was|probably|seems?) broken|\bmalformed\b"
    r"|\btruncated (?:file|data|stream|input|model|header)|\bdied\b"
    r"|\b(?:is|are|was|were) not (?:available|initiali[sz]ed|implemented|allowed|permitted|defined|loaded|ready|installed)\b"
    r"|\bnot (?:permitted|implemented|initiali[sz]ed|linked)\b"
    r"|\bno available (?:\w+ )?memory\b|(?-i:(?:^|\d +)EE +\d)"
    r"|not set in the environment|without an? \w+ (?:backend|context|device|driver)"
    r"|\b(?:kernel|buffer|texture|propert(?:y|ies)|binding|bind group|argument|uniform|sampler)\b.{0,60}\bis not (?:set|bound)\b"
    r"|\bnot enabled in (?:this|the) (?:build|version)"
    r"|\boutside (?:the |of )?(?:the )?(?:grid|range|bounds|domain|limits?|memory|window|allowed|valid)|improperly\b|non-?finite"
    r"|\binfinity\b|(?-i:[A-Z0-9]_ERR_[A-Z])|\btraceback \(most|\bbuilt without\b"
    r"|\bnot provided\b|\blockup\b|\bstalled\b|\bexceed(?:s|ed)\b|\btoo (?:large|small|old|long|short|big|high|low)\b"
    r"|core dump(?:ed)?\b|minidump"
    r"|\bgiving up\b|\bunknown (?:header|error|option|argument|symbol|type|device|function|command|symbol|target)|\bconflicts? with"
    r"|watchdog.{0,60}(?:terminat|kill|recover|restart|fired|trigger)|\bundefined (?:function|name|identifier)|no response\b|\boops\b"
    r"|\b(?:gpu|device|adapter|context) (?:has been|was) reset\b|(?-i:_CONTEXT_RESET\b)"
    r"|\bfaulty\b|\bundefined value|\breported problems\b|\berrors[ :=]{1,3}(?:0 - )*-?[1-9]\d*\b(?![.\d])"
    r"|\b(?:ret(?:urn(?:ed|s))?|rc|err(?:no)?)(?: code| value)?[ :=(]{1,3}-[1-9]\d{0,9}\b(?![.\d])|(?-i:\bCRITICAL\b)"
    r"|[\[<|(] ?critical ?[\]>|)]"
    r"|\bexhausted\b|\binaccessible\b|\bunreachable\b|\bfallen off\b|\bdisappeared\b|\boverheat\w*"
    r"|\b(?:screen|display|window|desktop|system|process|is|was|has) frozen\b|\babnormal\w*"
    r"|\binconsistent\b|\bunresolved\b|\bmisaligned\b|(?:does|do|did|is|are)(?: not|n't) match"
    r"|(?-i:-E(?:IO|INVAL|NOMEM|NODEV|NOENT|NOSPC|BUSY|FAULT|TIME(?:DOUT)?|PERM|ACCES)\b)"
    r"|not enough|insufficient|not compatible|incompatible|call returned [1-9]"
    r"|^\s*(?:\S+ +){0,9}#\d+ +(?:pc |0x)|错误|失败|崩溃|エラー|失敗|오류|실패|fallo|fehler|ошибка"
    r"|未找到|找不到|超时|无法|不支持|异常|見つかりません|できません|タイムアウト|찾을 수 없|시간 초과|지원되지"
    r"|\bno se p(?:udo|uede)\b|\bnicht (?:gefunden|finden|geladen|unterstützt|gültig|möglich)|\bintrouvable\b|\bне (?:удалось|найден)"
    r"|\bnot exists?\b|n't exist\b|\bnot (?:registered|usable|valid)\b|n't usable\b|\bunusable\b|\bis not a function\b|\bno space left\b"
    r"|\bimpossible to\b|\brefusing to\b|\bbailing out\b|\bexiting (?:due to|because)|\b(?:not|n't|never) converged?\b"
    r"|\bdiverged\b|\blost atoms\b"
    r"|(?-i:\bBUG: )|\.(?-i:Error|Exception): ",
    re.IGNORECASE,
)
# Lines with such a word that report no failure.
_FINE = re.compile(
    r"^\s*(?:#{1,6} (?:[^\W\d]+ ?){1,6}$|\*\*[^*]{1,120}\*\*\W*$)|^\s*at (?:async |new )?[\w$.<>/`~+\[\], ]{1,200}\(|^\s*-- "
    r"|^\s*(?:PASS(?:ED)?|OK|ok)\b[ :\[]|(?<![\w/.])(?:0|no|zero|without) (?:error|failure|failed|warning|crash|fault)|(?:errors?"
    r"|failures?|failed"
    r"|faults?)\s*[:=]?\s*0(?: - 0)*\b(?![.x]| - )|\bhas already been registered\b|(?:^|\] ?)Skipping\b|\bNCCL INFO comm\b"
    r"|(?-i:^\s*(?!\S*(?:ERR(?:OR)?|FAIL\w*|CODE|STATUS)\s*[:=])(?:[A-Z0-9]+(?:_[A-Z0-9]+)+|[A-Z]+\(\w+\))\s*[:=]\s*\S*\s*$)"
    r"|(?<![\w/.])0 (?:\w+ ){0,3}(?:failed|errors?|failures?)\b|within (?:the |a )?tolerance|fall(?:ing)? ?back|CUDA focus unchanged"
    r"|^=+ (?:(?:ERROR|LEAK|RACECHECK) SUMMARY|Target application returned)"
    # "No errors" in Korean, Chinese and Japanese.
    r"|(?:오류|에러|실패|문제)\S{0,3} (?:\S+ )?(?:않|없)"
    r"|(?:没有|沒有|无|無|未(?:发现|出现|见))(?:任何)?(?:错误|錯誤|报错|失败|异常)"
    r"|(?:エラー|失敗|異常|問題)\S{0,10}(?:ない|なし|ません)"
    r"|\berror code\W{1,3}(?:[A-Z]+:)?0+\b(?!x)|\(EE\) error, \(NI\)|\(unknown line\)|^\s*unknown function \(ip:"
    r"|(?-i:\b(?:INFO|DEBUG|TRACE)\b).{0,200}\bnot (?:available|supported|enabled|initiali[sz]ed|found)",
    re.IGNORECASE,
)
# The name of a test that begins or has passed, whatever it is called: googletest, CTest, pytest, cargo.
_TEST_NAMED = re.compile(
    r"^\s*\[ (?:RUN|      OK|SKIPPED) +\] |^\s*\[ (?:RUN|OK|SKIPPED) \] |^\s*Start +\d+: \S+$|^\s*\d+/\d+ Test +#\d+: .* Passed +[\d.]+ sec"
    r"|^\S+\.py::\S.* (?:PASSED|SKIPPED|XFAIL)\b(?: *\[ *\d+%\])?$|^(?:PASSED|SKIPPED|XFAIL) \S+\.py::|^test [\w:]+ \.\.\. (?:ok|ignored)$"
)
# "replica 0 failed" names a thing, "0 failed" counts.
_NUMBERED = re.compile(
    r"\b(?:device|gpu|rank|replica|core|node|stream|worker|index|thread|channel|engine|process|id|slot|queue|card|adapter|cuda|level"
    r"|job|test|batch|layer|step|tile|stage)[ =:#]{1,3}0(?= )",
    re.IGNORECASE,
)
# Words that measure, set or promise something; the rest of the line decides.
_NEUTRAL = re.compile(
    r"error[_ ]?rate|(?:mean|max|relative|absolute|rms|abs|test|validation|train\w*)[ _-]+error"
    r"|(?-i:[Ee]rror)[ =:]+(?:\d*\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+|0)\b(?! *[:A-Za-z(])|errors? +\d*\.\d"
    r"|(?:on|if|when|error)[_-]?(?:error|fail)\w*=\S*|--\S*(?:error|fail)\S*"
    r"|\bdefault(?:s|ing)?(?: (?:to|is|value|behaviou?r)|\s*[:=])|fail-?safe|errors?[ -](?:check|handl|report|correct)\w*"
    r"|fault[- ]tolerant|failover|\bretry|timeout\w{0,40}\s*(?:[:=]\s*\d+|\d+ ?m?s\b|(?:dis|en)abled)|time-?out from \d+",
    re.IGNORECASE,
)
# What a program advises, allows for or counts is not a failure.
_ADVICE = re.compile(
    r"\b(?:may|might|could|can|would) (?!not)(?:\w+ )?(?:cause|lead|result|be|fail|help|occur|run)|\bto avoid\b|\bin case\b"
    r"|\bif (?:you|the|this|it|not"
    r"|set|any|one)\b|\bwhen (?:you|using)|please (?:check|make|see|try|reduce|report|install|update|refer"
    r"|reference)(?![^.]*fail)|\bfall(?:ing)? ?back"
    r"|timeout[ _]?(?:=|:|is|of|set|value|sec|ms|in)\b|timeout_\w+\s*[:=]|--\w+|\bretry|will be ignored|\bdeprecat"
    r"|\btodo\b|^\s*(?://|(?-i:\* (?=[a-z@]))|#\s)|timeout\w{0,40}\s*[:=]\s*\d|timeout from \d"
    r"|no errors?\b|(?<![\w/.])0 (?:\w+ ){0,3}(?:errors?|failed)|skipp",
    re.IGNORECASE,
)
# A line of a program or of its data.
_CODE_ENDS = re.compile(
    r"[,{(\[]$|[=(){}\[\]].*;$|^(?:\S+ ){0,2}\S+;$|^[(\[{]\w*[(\[{]|^[\w.\[\]]+ = |^(?:def|class|return|import|assert|static|const|auto) "
)
# What has happened, whatever advice stands beside it.
_HAPPENED = re.compile(
    r"\b(?:unrecogni[sz]ed|unknown|invalid|unsupported) (?:option|argument|flag)|\bmissing argument\b"
    r"|\b(?:have|has|had) (?:been )?(?:failed|timed out|crashed|stopped|hung)|was encountered|fatal|failed:",
    re.IGNORECASE,
)
# An exception says what happened in its first sentence; what to do is in the next ones.
_RAISES = re.compile(r"(?:^|[\s.])[A-Z]\w+(?:Error|Exception|Warning): ")
_GOES_ON = re.compile(
    r"\bfall(?:ing|s)? ?back\b|\b(?:changing|switching|reverting)\b.{1,40}\bto\b|\binstead\b|, (?:re)?trying\b"
    r"|\bcontinuing\b", re.IGNORECASE
)
# What people write around a log.
_PROSE = re.compile(
    r"^(?:It|I|We|My|Our|If|But|So|Then|You|They|Also|And|Is|Does|Why|How)\b(?!:)"
    r"|^(?:The|This|That|There|When|After|El|La|Los|Las|Cuando|Al|Je|Quand|Lorsque|Der|Die|Das|Wenn|Ich)\b(?!.*[\\_<>=:])"
    r"|^(?:[A-Z]?[a-z'-]+,? ){6,}[a-z'-]+[.?]$|请问|怎么|如何|为什么|ですか|でしょうか|어떻게|인가요|¿"
)
_CALM = re.compile(
    r"^I\d{4} \d\d:\d\d:|^\[?(?:INFO|DEBUG|TRACE)\b|\blevel=(?:info|debug)\b|\bNCCL INFO\b|^[ID]/\w|^\d\d-\d\d [\d:.]+ +\d+ +\d+ [ID] "
)
_ENDED = re.compile(r"\s*(?:Segmentation fault|Aborted|Killed|Bus error)\b")  # no message of what went before
_LETTERS = re.compile(r"[^\W\d_]+|#\d")
_SHAPE = re.compile(r"[0-9a-f]{0,32}\d[0-9a-f]{0,64}", re.IGNORECASE)


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if reads_like_a_failure(text) and not codelike(text):
        yield Event(
            kind=NOT_UNDERSTOOD,
            role="ending",
            message=f"This line reads like a failure, and gpudx does not know its format: {text[:200].rstrip('.:!')}.",
            facts=(("said", shape(text)),),
            warning=True,
        )


@lru_cache(maxsize=8)  # two formats ask about the same line
def reads_like_a_failure(text: str) -> bool:
    """Has it a word of failure that is no measure of quality, no setting and no "0 errors"?"""
    if _TEST_NAMED.match(text):
        return False
    return _bad(text) and not _FINE.search(_NUMBERED.sub(" ", text)) and (not _NEUTRAL.search(text) or _bad(_NEUTRAL.sub(" ", text)))


def leads_on(text: str, near: Near) -> bool:
    """Does a line end with a colon, and the next one say what failed?"""
    if not text.endswith(":"):
        return False
    following = next((line for line in near.after(3) if line.strip()), "")
    return reads_like_a_failure(" ".join(following.split())) and not _ENDED.match(following)


def is_calm(text: str) -> bool:
    """Does the program itself call it information: glog's I, a level, Android's I?"""
    return bool(_CALM.search(text))


def is_advice(text: str) -> bool:
    """Does a line only say what may happen, or what to do then?"""
    first = text.partition(". ")[0]
    said = first if _RAISES.search(text) or _bad(first) else text
    return bool(_ADVICE.search(_NUMBERED.sub(" ", said))) and not _HAPPENED.search(said)


def goes_on(text: str) -> bool:
    """Does a line say what the program does in place of what it could not do?"""
    return bool(_GOES_ON.search(text))


def is_code(text: str) -> bool:
    return bool(_CODE_ENDS.search(text))


def is_prose(text: str) -> bool:
    """Is it a sentence of a person, and no line of a log?"""
    return bool(_PROSE.search(text))


def shape(text: str) -> str:
    """A line without its numbers: the same for lines that say the same."""
    return _SHAPE.sub("#", text)[:120]


def _bad(text: str) -> bool:
    """Is there such a word, written as people write words? In keys, hashes and encoded data, cases are mixed."""
    words = (_LETTERS.search(found[0]) for found in _BAD.finditer(text))
    return any(_is_word(found[0]) for found in words if found)


def _is_word(one: str) -> bool:
    return not one.isascii() or one == "NaN" or (one == one.lower() or one == one.upper() or one[1:] == one[1:].lower())
