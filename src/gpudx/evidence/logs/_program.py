"""Which program a log is of, and on which system: next steps name that command, and fit that system.

Not a format: nothing here is a failure. Commands are lines that a shell, a test runner or a build tool printed before it started something.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._languages import RUNS
from gpudx.evidence.logs._near import Near

FORMAT = "program"
MARKS = (
    "$ ",
    "# ./",
    "> ",
    ">.",
    "+ ",
    "Running `",
    "2>&1",
    "compute-sanitizer ",
    "Test command:",
    "executed command:",
    "Command line:",
    "Executing",
    "srun ",
    "mpirun ",
    "torchrun ",
    "python ",
    "python3 ",
    " E ",
    " F ",
    "E/",
    "F/",
    ".exe",
    ".dll",
    ":\\",
    "nvlddmkm",
    "DXGI",
    "Win32",
    "Windows",
    "amdwddm",
    "Event ID",
    "EventID",
    "ベント ID",
    "件 ID",
    "벤트 ID",
    "Ereignis-ID",
    "1844674407",
    "AndroidRuntime",
    "/data/app/",
    "F DEBUG",
    "F/libc",
    "libc    ",
    "Adreno-GSL",
    "/vendor/lib",
    "/Users/",
    "macOS",
    "Darwin",
    "MTLCommandBuffer",
    "kIOGPU",
    "kIOAccel",
    "[mvk-",
    "/usr/",
    "/home/",
    "kernel: ",
    "amdgpu ",
    "NVRM",
    "i915 ",
    "`python",
    "`./",
    "`mpi",
    "`srun",
)
MOST_READ = 5000
MOST_COMMANDS = 200
LONGEST = 200
SYSTEMS = (
    (
        "android",
        re.compile(
            r"^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ +\d+ [VDIWEF] |^[VDIWEF]/[\w.-]+ *\( *\d+\): |AndroidRuntime|/data/app/|\bF DEBUG\b"
            r"|F/libc|libc {4}|Adreno-GSL|/vendor/lib|com\.android|\bI/tflite"
        ),
    ),
    ("windows", re.compile(r"\b[A-Za-z]:\\|\.exe\b|nvlddmkm|DXGI|\(Win32\)|\bWindows (?:10|11|Server)|\.dll\b"
                             r"|amdwddm\w+|\b1844674407\d{10}\b|(?:Event ?|イベント ?|事件 ?|이벤트 ?|Ereignis-)ID\b")),
    ("macos", re.compile(r"/Users/\w|\bmacOS\b|\bDarwin\b|MTLCommandBuffer|kIO(?:GPU|Accel)|\[mvk-|/Applications/")),
    ("linux", re.compile(r"/usr/|/home/|kernel: |amdgpu |NVRM|i915 |/proc/|/opt/")),
)
_PROMPT = re.compile(
    r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#\n]{0,80}[$#] |\$ |[$%] |PS [A-Za-z]:\\[^>\n]{0,120}> ?"
    r"|[A-Za-z]:\\[^>\n]{0,120}> ?)(?P<command>\S.{1,400})"
)
_STARTED = re.compile(
    r"(?:Running `|Test command: ?|executed command: ?|Command line: ?|\bCommand\W{0,3}: ?`|^(?!\+\+\+ [ab]/)\++ |Executing(?: command)?: "
    rf"?|(?:{RUNS})[^`\n]{{0,24}}`(?=python|\./|mpi|srun))(?P<command>[^`]{{2,400}})`?"
)
# A launcher's own messages begin with its name, too: "mpirun noticed that process rank 5 ...".
_RUNNER = re.compile(r"^\s*(?P<command>(?:srun|mpirun|mpiexec|torchrun|deepspeed|accelerate launch) (?=-|\S*[./=]|python).{2,400})")
# A command without a prompt, as people paste it: a script, and arguments that are no words of a sentence.
_SCRIPT = re.compile(r"^\s*(?P<command>(?:[A-Z_][A-Z0-9_]*=\S* )*python3? (?:-[mu] )?[\w./-]*\w(?:\.py|(?<=-m )\S+)(?P<rest>(?: "
                     r"\S+)*))\s*$")
_PROGRAM = re.compile(r"^\s*(?P<command>(?:[A-Z_][A-Z0-9_]*=\S* )*\.{1,2}/[\w./-]*\w(?P<rest>(?: \S+)*))\s*$")
_STARTS = re.compile(
    r"(?:[A-Z_][A-Z0-9_]*=\S* )*(?:env (?:[A-Z_]\w*=\S* )*)?((?:\.{0,2}[/\\]|[A-Za-z]:\\|/)?[\w./\\+-]+)"
)
RUNNERS = (
    "python",
    "python3",
    "srun",
    "mpirun",
    "mpiexec",
    "torchrun",
    "deepspeed",
    "accelerate",
    "pytest",
    "cargo",
    "node",
    "julia",
    "bazel",
    "ctest",
    "java",
    "ruby",
)
NOT_PROGRAMS = re.compile(
    r"(?:^|/)(?:gpudx|dmesg|cat|tail|head|grep|cd|ls|export|set|git|pip\d?|make|cmake|ninja|nvcc|hipcc|clang\S*"
    r"|gcc|g\+\+|clinfo|nvidia-smi|rocminfo|uname|echo|docker|apt\S*|sudo|journalctl|lspci|modprobe|bash|sh|wget"
    r"|curl)$"
)
WRAPPERS = ("compute-sanitizer", "cuda-memcheck", "cuda-gdb", "oclgrind", "rocgdb", "gdb", "strace", "valgrind", "time", "timeout", "nsys")
_TAIL = re.compile(r"\s+(?:2?>&1|2?>{1,2}\s*\S+|\|\|?.*|&&.*|;.*|&)\s*$")


class Lines:
    """Gathers commands with their lines, and counts what speaks for each system."""

    def __init__(self) -> None:
        self.commands: list[tuple[int, str]] = []
        self._systems: Counter[str] = Counter()

    @property
    def systems(self) -> tuple[str, ...]:
        """The system that most lines speak for; Android and Windows logs name Linux paths, too, so that they count first."""
        for name, _ in SYSTEMS[:3]:
            if self._systems[name] > self._systems["linux"]:
                return (name,)
        return ("linux",) if self._systems["linux"] else ()

    def read(self, near: Near) -> Iterator[Event]:
        text = near.text
        for name, pattern in SYSTEMS:
            if pattern.search(text):
                self._systems[name] += 1
                break
        command = command_in(text)
        if command and len(self.commands) < MOST_COMMANDS:
            self.commands.append((near.line, command))
        yield from ()


def reader() -> Lines:
    return Lines()


def _are_arguments(words: list[str]) -> bool:
    """Options, their values, paths and numbers; the words of a sentence are none of these."""
    return all(
        word.startswith("-") or before.startswith("-") or any(mark in "./=\\0123456789" for mark in word.rstrip(".:"))
        for before, word in zip(["", *words], words, strict=False)
    ) and not any(word.endswith(":") for word in words)


def _unwrapped(command: str) -> str:
    """The program that a debugger or sanitizer was started with."""
    words = command.split(" ")
    if words[0] not in WRAPPERS:
        return command
    begins = (at for at, word in enumerate(words[1:], 1) if "/" in word or word in RUNNERS or word.endswith(".py"))
    at = next(begins, 0)
    python = "python " if at and words[at].endswith(".py") else ""
    return python + " ".join(words[at:]) if at else command


def _without_tail(command: str) -> str:
    """Without what a shell does with the output."""
    while (cut := _TAIL.sub("", command)) != command:
        command = cut
    return command


def command_in(text: str) -> str:
    """The program that a line says was started, with its arguments; "" where there is none."""
    found = _PROMPT.search(text) or _STARTED.search(text) or _RUNNER.search(text)
    bare = _without_tail(text) if found is None else ""
    if found is None and (script := _SCRIPT.search(bare) or _PROGRAM.search(bare)) and _are_arguments(script["rest"].split()):
        found = script
    if found is None:
        return ""
    command = _without_tail(_unwrapped(found["command"].strip()))
    first = _STARTS.match(command)
    if first is None or len(command) > LONGEST or NOT_PROGRAMS.search(first[1]):
        return ""
    path = "/" in first[1] or "\\" in first[1] or first[1].endswith(".exe")
    return command if path or first[1] in RUNNERS else ""
