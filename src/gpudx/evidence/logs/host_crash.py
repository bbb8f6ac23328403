"""Crashes of the host process: signals as shells, gdb, Rust, Python's faulthandler and Android tombstones report them.

It reads the signal, the fault address and the innermost frames, if a backtrace follows. A small fault address is decoded. A
frame in a driver is where a bad value was used; who made that value is not in the backtrace. "Aborted" is the end of a program
that stopped itself for a reason printed before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudx.evidence.logs import _next, rocm_debugger
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address

FORMAT = "host-crash"
# What shells print in other languages (the translations of glibc's strsignal and of bash).
LOCAL = {
    "SIGSEGV": (
        "段错误",
        "段錯誤",
        "記憶體區段錯誤",
        "セグメンテーション違反",
        "세그멘테이션 오류",
        "세그멘테이션 폴트",
        "Violación de segmento",
        "Speicherzugriffsfehler",
        "Erreur de segmentation",
        "Falha de segmentação",
        "Ошибка сегментирования",
        "Errore di segmentazione",
    ),
    "SIGBUS": ("总线错误", "バスエラー", "버스 오류", "Error en el bus"),
    "SIGABRT": (
        "已放弃",
        "已中止 (",
        "已中止(",
        "アボートしました",
        "中止 (コアダンプ",
        "중지됨 (",
        "Abortado (",
        "Abgebrochen (",
        "Аварийный останов",
    ),
    "SIGILL": ("非法指令", "不正な命令", "잘못된 명령", "Instrucción ilegal", "Недопустимая инструкция"),
    "SIGFPE": ("浮点数例外", "浮点异常", "浮動小数点例外", "부동 소수점 예외", "Excepción de coma flotante"),
    "SIGKILL": ("已杀死", "已終了", "強制終了", "죽었음", "Terminado (killed)", "Processus arrêté"),
}
MARKS = (
    "received signal ",
    "] signal (",
    "SIGSEGV",
    "SIGABRT",
    "SIGBUS",
    "SIGILL",
    "SIGFPE",
    "Segmentation fault",
    "segmentation fault",
    " segfault",
    "EXC_BAD_ACCESS",
    "Access violation",
    "access violation",
    "Access Violation",
    "0xC0000005",
    "0xc0000005",
    "EXCEPTION_ACCESS_VIOLATION",
    "Bus error",
    " pc 0x",
    "F DEBUG ",
    "/DEBUG",
    " pc 0",
    "Signal: ",
    "(core dumped)",
    "Fatal Python error",
    "Fault Address",
    "Illegal instruction",
    "Floating point exception",
    "Faulting application name",
    "ExceptionCode: ",
    "alloc(): ",
    "malloc: ***",
    "malloc_consolidate(): ",
    "free(): ",
    "double free or corruption",
    "corrupted ",
    "munmap_chunk(): ",
    "stack smashing detected",
    "buffer overflow detected",
    "eap corruption",
    "dumped core",
    *(mark for marks in LOCAL.values() for mark in marks),
)
_SIGNAL = re.compile(
    r"\b(SIGSEGV|SIGABRT|SIGBUS|SIGILL|SIGFPE)\b|(Segmentation fault|\bsegfault(?:ed)?\b(?! at )|EXC_BAD_ACCESS|Access[ _]violation"
    r"|0xC0000005)|(Bus error)|(\bAborted"
    r"|IOT instruction)|(Illegal instruction)|(Floating point exception)",
    re.IGNORECASE,
)
# A program may speak of signals without having met one.
_MET = re.compile(
    r"signal|\babort(?:s|ed) with\b"
    r"|segmentation fault|report\w* a segfault|segfaulted|core dumped|fault addr|fatal|killed|terminated|crash|exit|exception|bus "
    r"error|violation"
    r"|^\s*(?:\S+: line \d+:.*)?(?:Illegal instruction|Floating point exception)|EXC_BAD|0xc0000005|\(0x[0-9a-f]+\) at pc=",
    re.IGNORECASE,
)
# Messages of glibc (malloc.c, "malloc_printerr"; debug/fortify_fail.c), jemalloc and macOS about memory of the host that is damaged.
_HEAP = re.compile(
    r"(?:malloc(?:_consolidate)?|realloc|free|munmap_chunk)\(\): (?:invalid|corrupted|unaligned|double free|mismatching|too many"
    r"|unsorted|smallbin"
    r"|largebin)"
    r"[\w ().:-]{0,60}|double free or corruption|corrupted (?:size vs\. prev_size|double-linked list)|\*\*\* (?:stack smashing|buffer"
    r" overflow) detected|malloc: \*\*\* error for object|[Hh]eap corruption detected|pointer being freed was not allocated"
)
# The driver program of clang, about a part of it that it had started.
_TOOL = re.compile(
    r"((?:clang|ld|lld|opt|llc|hipcc|nvcc|ptxas|cicc|icpx?|dpcpp)\S{0,20}): (?:fatal )?error: unable to execute command: "
    r"((?:Segmentation|Aborted|Illegal|Killed|Bus)[\w ]*)"
)
_FAULTING = re.compile(r"Faulting application name: ([^,\s]+)")
_MODULE = re.compile(r"Faulting module name: ([^,\s]+)")
_EXCEPTION = re.compile(r"Exception code: (0x[0-9a-fA-F]{8})")
_RECORD = re.compile(r"^\s*ExceptionCode: ([0-9a-f]{8})\b(?: \(([^()]{3,60})\))?")  # WinDbg, of a dump
_PROCESS = re.compile(r"^\s*PROCESS_NAME: +(\S+)")
_THROWN_AT = re.compile(r"^\s*ExceptionAddress: [0-9a-f`]+ \(([^()+!]+)")
_WINDOWS_DRIVER = re.compile(r"nv(?:wgf2um|oglv|cuda|d3dum|opencl)|ati|amd(?:xx|vlk|ocl|hip)|ig(?:d|c|dx)|intelocl", re.IGNORECASE)
_NOT_MET = re.compile(
    r"handler|install|ignor|catch|PETSC ERROR|potential|possibl[ey]|\b(?:may|might|could) (?:be|have)\b|\bor other\b", re.IGNORECASE
)
_DUMPED = re.compile(r"Process (\d+) \(([^)]{1,40})\) of user \d+ dumped core|\[\d+\]: Process (\d+) \(([^)]{1,40})\) .{0,20}dumped core")
GAVE_UP = re.compile(r"\b(?:abort|raise|__assert_fail|__pthread_kill|pthread_kill|terminate)")
_ADDRESS = re.compile(
    r"(?:fault addr(?:ess)?|si_addr|Fault Address|violation (?:read|writ)ing(?: location)?)\W{0,8}(0x[0-9a-fA-F]+)", re.IGNORECASE
)
_FRAME = re.compile(r"^\s*#(\d+)\s+(?:pc [0-9a-f]+\s+)?(.+)")
DRIVER = re.compile(r"libOpenCL|common_clang|libcuda|libamdhip|libhsa|libMali|libGLES|adreno|libigd|libigc|libpocl|qCLDrv"
    r"|pipe_\w+\.so|\w+_dri\.so"
                     r"|libnvidia|amdocl|igdrcl|radeonsi|libvulkan_", re.IGNORECASE)
_COMPILER = re.compile(r"llvm|clang|[Cc]ompile|SelectionDAG|spirv", re.IGNORECASE)
_JAVA = re.compile(r"^#?\s*[CJVjv]  ?\[(\S+?)\]")  # "Problematic frame" of the Java runtime
_TOMBSTONE = re.compile(r"(?:^|(?:F DEBUG *|[AF]/DEBUG\b[^:]*):)\s*\(?#\)?\d+ +pc +(?:0x)?[0-9a-f]{6,16} +(.+)")
TOMBSTONE = "adb logcat -b crash -d"
_NUMBER = re.compile(r"(?:received signal |^\s*Signal: )(4|6|7|8|11)\b")  # the second is coredumpctl's
SIGNALS = {"4": "SIGILL", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "11": "SIGSEGV"}
NAMES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE")
# "core dumped" in these languages.
_KEPT = r"(?:核心|コアダンプ|코어|core|`core|Speicherabzug|стек|imagem|immagine)"
MOST_LINES = 40
LONGEST_SHELL = 120
MOST_FRAMES = 3


def read(near: Near) -> Iterator[Event]:
    if _TOMBSTONE.search(near.text):
        yield from _tombstone(near)
        return
    if found := _FAULTING.search(near.text):
        yield _windows(found[1], " ".join((near.text, *near.after(6))))
        return
    if found := _RECORD.match(near.text):
        yield _analysed(found[1], found[2] or "", (*near.before(6), *near.after(30)))
        return
    if found := _DUMPED.search(near.text):
        yield _dumped(found[2] or found[4], found[1] or found[3], near.after(8))
        return
    if name := next((name for name, words in LOCAL.items() if any(one in near.text for one in words)), ""):
        yield from _shell(name, near.text)
        return
    if found := _TOOL.search(near.text):
        said = f"The device compiler itself crashed: {found[1]} ended with {found[2].strip()[:60]}."
        notes = ("a fault of the compiler, or code that it cannot translate for this device",)
        yield Event("compiler-crashed", "refusal", said, (("tool", found[1]),), notes, ("failed-call",), _next.RECORD, sure=False)
        return
    if found := _HEAP.search(near.text):
        why = "a block was freed twice" if "double free" in found[0] else "an earlier write went outside its block"
        said = f"The C library found that host memory is damaged ({found[0].strip(' *')}): {why}."
        notes = ("not proved: which write or call it was; it came before this line",)
        yield Event("host-heap-damaged", "ending", said, (("said", found[0][:40]),), notes, next=_next.INVESTIGATE)
        return
    signal = _SIGNAL.search(near.text) or _NUMBER.search(near.text)
    met = _MET.search(near.text) and not _NOT_MET.search(near.text)
    if signal is None or not met or "process didn't exit" in near.text:  # the last is told by the format of tests
        return
    if "received signal" in near.text and rocm_debugger.takes(near):
        return
    name = (
        SIGNALS.get(signal[1], signal[1])
        or next(name for name, text in zip(NAMES, signal.groups()[1:], strict=True) if text)
    ).upper()
    below = near.after(MOST_LINES)
    found = next((hit for hit in map(_ADDRESS.search, (near.text, *below[:8], *near.before(3))) if hit), None)
    value = int(found[1], 16) if found else None
    frames = _frames(below) or [match[1] for match in map(_JAVA.match, below[:12]) if match]
    frames = frames or [line for line in (near.text, *near.before(3), *below[:4]) if DRIVER.search(line)][:MOST_FRAMES]
    if name == "SIGABRT":  # what was printed around it is no frame
        frames = _frames(below)
    yield Event(
        kind="host-abort" if name == "SIGABRT" else "host-crash",
        role="ending",
        message=_message(name, value, frames),
        facts=(("signal", name),),
        notes=tuple(_notes(value, frames)),
        causes=() if name == "SIGABRT" else ("crash-in-call",) if _in_driver(frames) else ("crash-outside-calls",),
        next=_next.RECORD,
    )


def _dumped(name: str, pid: str, below: list[str]) -> Event:
    """A note of systemd-coredump; the stack below it shows whether the program gave up by itself."""
    frames = _frames(below)
    gave_up = any(GAVE_UP.search(frame) for frame in frames)
    how = "aborted: it gave up for a reason of its own" if gave_up else "crashed"
    causes = () if gave_up else ("crash-in-call",) if _in_driver(frames) else ("crash-outside-calls",)
    said = f"{name} (process {pid}) {how}, and the system kept a core dump."
    kind = "host-abort" if gave_up else "host-crash"
    return Event(kind, "ending", said, (("process", name),), tuple(_notes(None, frames)), causes, f"coredumpctl debug {pid}")


def _shell(name: str, text: str) -> Iterator[Event]:
    """A shell that reports a signal in another language: such a line says nothing else, or quotes a command."""
    words = "|".join(re.escape(word.strip("` (")) for word in LOCAL[name])
    if len(text) > LONGEST_SHELL or not re.search(rf"(?:^|\d\s+)\W*(?:{words})|(?:{words})\S{{0,4}} ?\({_KEPT}", text):
        return
    if name == "SIGKILL":
        yield Event("process-ended", "ending", "A process was killed (SIGKILL).", (("how", name),), next=_next.RECORD)
        return
    kind = "host-abort" if name == "SIGABRT" else "host-crash"
    causes = () if name == "SIGABRT" else ("crash-outside-calls",)
    yield Event(kind, "ending", _message(name, None, []), (("signal", name),), (), causes, _next.RECORD)


def _windows(name: str, text: str) -> Event:
    """An entry of the application log of Windows (event 1000)."""
    module, code = _MODULE.search(text), _EXCEPTION.search(text)
    where = f" in {module[1]}" if module else ""
    driver = bool(module and _WINDOWS_DRIVER.match(module[1]))
    said = f"{name} crashed{where}{f' (exception {code[1].lower()})' if code else ''}{', a GPU driver' if driver else ''}."
    causes = ("crash-in-call",) if driver else ("crash-outside-calls",)
    return Event("host-crash", "ending", said, (("in", module[1] if module else ""),), (), causes, _next.RECORD)


def _analysed(code: str, means: str, around: Sequence[str]) -> Event:
    """The exception in a dump, as WinDbg prints it."""
    name = next((found[1] for found in map(_PROCESS.match, around) if found), "The process")
    module = next((found[1] for found in map(_THROWN_AT.match, around) if found), "")
    driver = bool(_WINDOWS_DRIVER.match(module))
    where = f" in {module}" if module else ""
    said = f"{name} crashed{where} (exception 0x{code}{f', {means}' if means else ''}){', a GPU driver' if driver else ''}."
    causes = ("crash-in-call",) if driver else ("crash-outside-calls",)
    return Event("host-crash", "ending", said, (("in", module),), (), causes, _next.RECORD)


def _tombstone(near: Near) -> Iterator[Event]:
    """The frames of an Android crash whose headline was not pasted."""
    if any("signal" in line or _TOMBSTONE.search(line) for line in near.before(6)):
        return
    frames = [match[1] for match in map(_TOMBSTONE.search, (near.text, *near.after(MOST_FRAMES))) if match]
    said = "The log has frames of an Android crash without the headline that names the signal."
    notes = (
        "innermost frames in the log: " + " < ".join(frame[:100] for frame in frames),
        "the lines above the first frame were not pasted",
    )
    yield Event(
        "host-crash",
        "ending",
        said,
        (("signal", "unknown"),),
        notes,
        ("crash-in-call",) if _in_driver(frames) else ("crash-outside-calls",),
        TOMBSTONE,
    )


def _frames(below: list[str]) -> list[str]:
    found = [match[2].strip() for match in map(_FRAME.match, below) if match]
    return found[:MOST_FRAMES]


def _in_driver(frames: list[str]) -> bool:
    return any(DRIVER.search(frame) for frame in frames)


def _message(name: str, value: int | None, frames: list[str]) -> str:
    if name == "SIGABRT":
        own = next((frame for frame in frames if DRIVER.search(frame)), "")
        if not own:
            return "The process aborted (SIGABRT); the reason is what was printed before."
        compiler = "the compiler of a GPU driver" if _COMPILER.search(own) else "a GPU driver"
        return f"The process aborted (SIGABRT) because {compiler} gave up: {own[:120].rstrip('.')}."
    at = f" at address {value:#x}" if value is not None else ""
    where = ", inside a GPU driver: a bad value was used there, and made elsewhere" if _in_driver(frames) else ""
    return f"The host process crashed ({name}{at}){where}."


def _notes(value: int | None, frames: list[str]) -> Iterator[str]:
    if value is not None and address(value):
        yield address(value)
    if value == 0 and frames and "<unknown>" in frames[0]:
        yield "the innermost frame has no code: a function pointer that is null was called"
    if frames:
        yield "innermost frames: " + " < ".join(frame[:100] for frame in frames)
