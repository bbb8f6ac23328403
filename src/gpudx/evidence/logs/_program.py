"""Which program a log is of, and on which system: next steps name that command, and fit that system.

Not a format: nothing here is a failure. Commands are lines that a shell, a test runner or a build tool printed before it started something.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._languages import RUNS
from gpudx.evidence.logs._near import Near

FORMAT = "program"
MARKS = (
    "$ ",
    "./",
    " --",
    " -m ",
    "in <module>",
    ".py::",
    "... FAILED",
    "Test #",
    "Test  #",
    "Test   #",
    "Test    #",
    "FAIL [",
    " FAIL  ",
    "--- FAIL: ",
    "FLAKY",
    "FAILED in",
    "TIMEOUT in",
    "Cell In[",
    "offending task",
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
    "AndroidRuntime",
    "/data/app/",
    "/data/local/tmp/",
    "F DEBUG",
    "F/libc",
    "libc    ",
    "Adreno-GSL",
    "kgsl",
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
    "`mpi",
    "`srun",
)
MOST_READ = 20_000
MOST_COMMANDS = 200
LONGEST = 200
SYSTEMS = (
    (
        "android",
        re.compile(
            r"^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ +\d+ [VDIWEF] |^[VDIWEF]/[\w.-]+ *\( *\d+\): |AndroidRuntime|/data/(?:app|local/tmp)/"
            r"|\bF DEBUG\b|F/libc|libc {4}|Adreno-GSL|\bkgsl\b|/vendor/lib|com\.android|\bI/tflite"
        ),
    ),
    ("windows", re.compile(r"\b[A-Za-z]:\\|\.exe\b|nvlddmkm|DXGI|\(Win32\)|\bWindows (?:10|11|Server)|\.dll\b"
                             r"|amdwddm\w+|(?:Event ?|イベント ?|事件 ?|이벤트 ?|Ereignis-)ID\b")),
    ("macos", re.compile(r"/Users/\w|\bmacOS\b|\bDarwin\b|MTLCommandBuffer|kIO(?:GPU|Accel)|\[mvk-|/Applications/")),
    ("linux", re.compile(r"/usr/|/home/|kernel: |amdgpu |NVRM|i915 |/proc/|/opt/")),
)
_PROMPT = re.compile(
    r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#\n]{0,80}[$#] |\$ |[$%] |PS [A-Za-z]:\\[^>\n]{0,120}> ?"
    r"|[A-Za-z]:\\[^>\n]{0,120}> ?)(?P<command>\S.{1,400})"
)
_STARTED = re.compile(
    r"(?:Running `|Test command: ?|executed command: ?|Command line: ?|\bCommand\W{0,3}: ?`|^(?!\+\+\+ [ab]/)\++ |Executing(?: command)?: "
    rf"?|(?:{RUNS})[^`\n]{{0,24}}`(?=python|\./|mpi|srun)|\b(?:[Ss]tart|[Ll]aunch|[Rr]unn|[Ee]xecut)ing:? (?=\.{{0,2}}/|python3? |mpi\w+ )"
    r"|offending task: \S+ \((?=\S*/))(?P<command>[^`]{2,400}?)(?:`|\)?$)"
)
# A launcher's own messages begin with its name, too: "mpirun noticed that process rank 5 ...".
_RUNNER = re.compile(r"^\s*(?P<command>(?:srun|mpirun|mpiexec|torchrun|deepspeed|accelerate launch) (?=-|\S*[./=]|python).{2,400})")
# A command without a prompt, as people paste it: a script, and arguments that are no words of a sentence.
_SCRIPT = re.compile(r"^\s*(?P<command>(?:[A-Z_][A-Z0-9_]*=\S* )*python3? (?:-[mu] )?[\w./-]*\w(?:\.py|(?<=-m )\S+)(?P<rest>(?: "
                     r"\S+)*))\s*$")
# The same of any program that got an option: "llama-cli -m a.gguf --temp 0".
_OPTIONS = re.compile(
    r"^\s*(?P<command>(?:[A-Z_][A-Z0-9_]*=\S* )*(?!(?:usage|error|warning|info|note|try|use|run|with|pass|set|see|add)\b)[a-z][\w.+-]{1,30}"
    r"(?: [a-z][\w-]{1,20}(?= ))?(?P<rest>(?: [^\s<>\[\]]+)*? --?[a-zA-Z][\w-]*(?:[ =][^\s<>\[\]]+)*))\s*$"
)
# The first frame of a traceback: the script that was started, without its arguments.
_MODULE = re.compile(r'^\s*File "(?!<)((?!.*(?:site|dist)-packages)[^"]+\.py)", line \d+, in <module>')
_CELL = re.compile(r"^\s*Cell In\s?\[\d+\], line \d+")
# Lines of test runners say which runner it was, and of which tests.
_TESTED = tuple(
    (re.compile(pattern), command)
    for pattern, command in (
        (r"^(?:FAILED |ERROR |PASSED )?(?P<what>[\w./-]+\.py)::\w", "pytest {}"),
        (r"^test (?P<what>)[\w:]+ \.\.\. FAILED", "cargo test"),
        (r"^(?P<what>)\s*(?:\d+/\d+ )?Test +#\d+: ", "ctest"),
        (r"^(?P<what>)\s*(?:TRY \d+ )?(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT) +\[ *[\d.]+s\] ", "cargo nextest run"),
        (r"^(?P<what>)\s*--- FAIL: Test", "go test"),
        (r"^(?P<what>)\s*\d+/\d+ +\S+:\S+ +(?:FAIL|TIMEOUT) +[\d.]+s", "meson test"),
        (r"^\s*(?P<what>//\S+:\S+) +(?:FLAKY|FAILED|TIMEOUT)", "bazel test {}"),
    )
)
NOTEBOOK = "jupyter execute NOTEBOOK.ipynb"
CONTAINERS = ("docker", "podman", "apptainer", "singularity", "nerdctl")
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
    r"(?:^|/)(?:icpx?|dpcpp|ptxas|cuobjdump|nvdisasm|llc|opt|ld|rustc|npm|yarn|conda|mamba|dnf|yum|brew|pacman|kubectl|ssh|scp|rsync|tar"
    r"|find|awk|sed|ps|top|rocm-smi|amd-smi|lsmod|mount|systemctl|qemu\S*|ccache|ar|objdump|readelf|ldd|mkdir|rm|cp|mv|jq|xargs"
    r"|gpudx|dmesg|cat|tail|head|grep|cd|ls|export|set|git|pip\d?|make|cmake|ninja|nvcc|hipcc|clang\S*"
    r"|gcc|g\+\+|clinfo|nvidia-smi|rocminfo|uname|echo|docker|apt\S*|sudo|journalctl|lspci|modprobe|bash|sh|wget"
    r"|curl)$"
)
WRAPPERS = (
    "compute-sanitizer", "cuda-memcheck", "cuda-gdb", "oclgrind", "rocgdb", "gdb", "strace", "valgrind", "time", "timeout", "nsys", "sudo",
)  # fmt: skip
_TAIL = re.compile(r"\s+(?:2?>&1|2?>{1,2}\s*\S+|\|\|?.*|&&.*|;.*|&)\s*$")


class Lines:
    """Gathers commands with their lines, and counts what speaks for each system."""

    def __init__(self) -> None:
        self._printed: list[tuple[int, str]] = []
        self._guessed: list[tuple[int, str]] = []
        self._systems: Counter[str] = Counter()

    @property
    def commands(self) -> list[tuple[int, str]]:
        """Those that were printed; else what can be concluded from tracebacks and tests."""
        return self._printed or self._guessed

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
        if command and len(self._printed) < MOST_COMMANDS:
            self._printed.append((near.line, command))
        elif len(self._guessed) < MOST_COMMANDS and (guess := _guessed(text)):
            self._guessed.append((near.line, guess))
        yield from ()


def _guessed(text: str) -> str:
    """How the program was started, by a line that only programs started so print: a traceback, or the result of a test."""
    if started := _MODULE.match(text):
        return f"python {shlex.quote(started[1])}"
    tested = ((found, command) for pattern, command in _TESTED if (found := pattern.match(text)))
    return next((command.format(found["what"]) for found, command in tested), NOTEBOOK if _CELL.match(text) else "")


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
    if words[0] in CONTAINERS:
        at = next((at for at, word in enumerate(words) if word in RUNNERS or word.startswith("./") or word.endswith(".py")), 0)
        return " ".join(words[at:]) if at else command
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
    pasted = _SCRIPT.search(bare) or _PROGRAM.search(bare) or _OPTIONS.search(bare)
    if found is None and pasted and _are_arguments(pasted["rest"].split()):
        found = pasted
    if found is None:
        return ""
    command = _without_tail(_unwrapped(found["command"].strip()))
    first = _STARTS.match(command)
    if first is None or len(command) > LONGEST or NOT_PROGRAMS.search(first[1]):
        return ""
    path = "/" in first[1] or "\\" in first[1] or first[1].endswith(".exe")
    return command if path or first[1] in RUNNERS or found.re is _OPTIONS else ""
