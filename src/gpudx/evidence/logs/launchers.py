"""How launchers, schedulers, shells and CI systems say that a process ended: Slurm, MPI, torchrun, Ray, Kubernetes, GitHub, Bazel.

They report how it ended: killed, out of memory, over its time, by a signal, with an exit status. Why is in the log of the process itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next, host_crash, unrecognised
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event as status_event
from gpudx.evidence.logs._statuses import told

FORMAT = "launcher"
GENERIC = 2
MARKS = (
    "srun:",
    "slurmstepd",
    "slurm_script",
    "MPI_Abort",
    "MPI_ABORT",
    "mpirun",
    "mpiexec",
    "prterun",
    "exitcode",
    "exit code",
    "Exit code",
    "exit status",
    "Exit status",
    "exited with",
    "Killed",
    "OOMKilled",
    "oom_kill",
    "oom-kill",
    "SIGKILL",
    "SIGTERM",
    "ChildFailedError",
    "EngineDeadError",
    "WorkerCrashedError",
    "ActorDiedError",
    "worker died",
    "BrokenProcessPool",
    "terminated by signal",
    "terminated abnormally",
    "killed by signal",
    "returned non-zero",
    "runner terminated",
    "runner process",
    "terminate called",
    "uncaught exception of type",
    "CrashLoopBackOff",
    "ContainerError",
    "std::terminate",
    "unexpectedly",
    "signal: ",
    "TIMEOUT in",
    "TIMEOUT:",
    "Terminated",
    "Hangup",
    "User defined signal",
    "^C",
    "KeyboardInterrupt",
    "SIGINT",
    "DUE TO TIME LIMIT",
    "EngineCore",
    "process died",
    "died with",
    "Child aborted",
    "exit=",
    "code=killed",
    "code=dumped",
    "status=6/ABRT",
    "core-dump",
    "goroutine ",
    "engine dead",
    "#0  0x",
    "frame #",
    "death signal",
    "sigquit",
    "+0x",
    ".dll!",
    ".exe!",
    "#1  ",
    "#0 |",
    "#0  ",
    "#2  ",
    "#3  ",
    ".dylib ",
    "\"symbollocation\":",
    "line ",
    "did not run successfully",
    "didn't terminate successfully",
    "ernel crashed",
    "ernel died",
    "ernel appears to have died",
    "estarting kernel",
    "failed with error code",
    "crash has occurred",
    "rash detected",
    "improperly",
    "Stack trace of thread",
    "atchdog",
    "may be stuck",
    "running low on memory",
    " timed out",
    "broadcast block",
)
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
# A thread or process of the program that looks for progress: SGLang's "Watchdog timeout", and others.
_WATCHDOG = re.compile(r"\bwatchdog\b.{0,40}\b(?:time(?:d )?-?out\b(?!s? ?(?:is|set|of|to)\b)|expired|fired"
                       r"|no progress|not respond\w*)|no progress\b.{0,40}\bwatchdog|\bhas been waiting for\b.{0,200}\bmay be stuck",
                       re.IGNORECASE)
# Processes of one program that ask each other: vLLM's engine and workers, and others.
_UNANSWERED = re.compile(r"\bRPC call to \S+ timed out|[Nn]o available shared memory broadcast block found")
_LIMIT = re.compile(r"DUE TO TIME LIMIT|(?:job|test|step) .{0,40}(?:time ?limit|timed out)", re.IGNORECASE)
_MEMORY = re.compile(r"OOMKilled|oom[-_]kill|Out[- ]Of[- ]Memory|DUE TO MEMORY|node running low on memory", re.IGNORECASE)
_DEVICE = re.compile(r"\b(?:GPU|CUDA|VRAM|device memory)\b")
_CODE = re.compile(
    r"(?:exit(?:ed)?(?:\s*(?:with|on))?\s*(?:code|status|value)?\s?\[?|exitcode|exit_code|ExitCode|exit status|non-zero exit status"
    r"|return(?:ed)? code|(?:program|process|command) failed with error code)\s*[:=]?\s*\(?(0x[0-9a-fA-F]{8}|-?\d{1,20})\b",
    re.IGNORECASE,
)
_SIGNAL = re.compile(
    r"\b(?:signal:? |signal |status=)(\d{1,2})(?:/[A-Z]{3,5})?\b|\b(SIG(?:SEGV|ABRT|KILL|TERM|BUS|FPE|ILL))\b"
    r"|signal: (\w[\w ]+)", re.IGNORECASE
)
_POSSIBLE = re.compile(r"\b(?:potential|possible|likely) (?:root )?causes?\b|\bor other unexpected\b", re.IGNORECASE)
# Builds that end with the exit status of a tool, as setuptools, pip, ninja and cmake report it.
_TOOL = r"nvcc|hipcc|(?:clang|gcc|g\+\+|cc|c\+\+|ld|lld)(?:-\d+)?|cl|link|ninja|cmake|make|msbuild|bazel|cargo|meson|ptxas"
_BUILD = re.compile(
    rf"\b[Cc]ommand\W{{1,4}}(?:\S*[/\\])?(?P<tool>(?:{_TOOL})(?:\.exe)?)['\"]?[ ,].{{0,2000}}?(?:failed with|returned non-zero) exit"
    rf"|(?P<script>python setup\.py \w+|Building wheel for [\w.-]+ \S+) did not run successfully"
    rf"|^(?:\S*[/\\])?(?P<last>{_TOOL})\S*: (?:error: .{{0,80}}exit code|fatal: .{{0,80}}exit)"
)
_NOTEBOOK = re.compile(r"(?<!: )\bkernel (?:has )?(?:crashed|died|appears to have died)|^\s*restarting kernel\b", re.IGNORECASE)
_RANK = re.compile(r"\brank\s*[:=]?\s*(\d+)|local_rank: (\d+)|task (\d+)|process rank (\d+)", re.IGNORECASE)
# Frames of gdb, of glibc's backtrace, of Windows modules and of macOS, without the message that led to them.
_FRAME = re.compile(
    r"^\W{0,6}#\d+ \| \S+\(\S*\+0x|^(?:\[\d+\] )?\W{0,4}#\d+ +(?:0x[0-9a-f]+ in )?[\w:~<>?@.]+ \(.*(?:\) (?:at|from) \S|,\s*$)"
    r"|^\s*\S+\.(?:dylib|framework)\s+\S.*(?:\(|::|_)|\"symbolLocation\":\d+"
    r"|^\s*frame #\d+: \S|^\s*#\d+ +0x[0-9a-f]+ in \S|^\s*\S*/\S+\(\S*\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]"
    r"|^\s*Binary file \"[^\"]{1,200}\", at \S*\+0x[0-9a-f]+ \[0x|^\W{0,4}(?:\d+: |[0-9A-F]{16,32} )?[\w.-]+\.(?:dll|exe"
    r"|sys)!\S+|^\s*#\d+ +0x[0-9a-f]{8,16} \S+ \(\S+ \+ 0x"
)
MOST_FRAMES = 12
_PYTHON = re.compile(r"^(?:.{0,80}[\])] )?\s*File \"[^\"]+\", line \d+, in \S")
_PYTHON_ABOVE = re.compile(r"Traceback \(most recent call last\)|^(?:.{0,80}[\])] )?\s*File \"[^\"]+\", line \d+")
_RAISED = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception)): \S.*")
_GO = re.compile(r"^(?:goroutine \d+ \[|created by .+ in goroutine \d+)")
_TERMINATE = re.compile(r"terminate called (?:after throwing an instance of ['‘]([^'’]+)['’]|without an active exception)")
# The same, by LLVM's C++ library (Android, macOS).
_UNCAUGHT = re.compile(r"terminating (?:due to|with) uncaught exception of type ([\w:<>, ]{2,80}?)(?:: (.{2,160})|:?\s*$)")
_RESTARTED = re.compile(r"^\s*(\S{3,80})\s+\d+/\d+\s+(?:\S+:)?CrashLoopBackOff\s+(\d+)")  # kubectl get pods
_WAITS = re.compile(r"\bReason: +(CrashLoopBackOff|RunContainerError|CreateContainerError)\b")  # kubectl describe
_OF_CUDA = re.compile(r"thrust::|cub::|rmm::|raft::|cuda::")  # their texts are those of CUDA, and of HIP
_DIED = re.compile(
    r"\bKilled\b|process didn't terminate successfully|EngineDeadError|engine dead|EngineCore.{0,60}(?:died|dead|failed|fatal)"
    r"|WorkerCrashedError"
    r"|ActorDiedError|worker died"
    r"|process died"
    r"|unexpectedly|runner (?:process )?(?:has )?terminated|MPI_A(?:bort|BORT)"
    r"|Job step aborted|Child aborted|ChildFailedError|terminated by signal|terminated abnormally|\d death signal"
    r"|Received sigquit|killed by signal"
    r"|Force Terminated|BrokenProcessPool"
    r"|status=\d+/[A-Z]{3,}|code=(?:killed|dumped)|(?:exited|exiting) improperly|[Aa] crash has occurred|Crash detected in (?:pid|process)"
)
# What a shell prints about a signal, with nothing else in the line; "Killed" is read with others.
ALONE = {"Terminated": "SIGTERM", "Hangup": "SIGHUP", "User defined signal 1": "SIGUSR1", "^C": "SIGINT", "KeyboardInterrupt": "SIGINT"}
_ALONE = re.compile(rf"^\s*(?:\S+: line \d+: +\d+ )?({'|'.join(map(re.escape, ALONE))})(?: \(core dumped\))?(?:\s*$|(?<=\d )|  +\S)")
EXTENDED = (1 << 64) - (1 << 30)  # the exceptions begin at 0xC0000000
WINDOWS = {
    0xC0000139: "a function that a DLL does not have",
    0xC0000135: "a DLL that was not found",
    0xC0000005: "an access violation",
    0xC0000409: "a stack buffer overrun or abort",
    0xC00000FD: "a stack overflow",
    0xC0000094: "an integer division by zero",
    0xC000001D: "an illegal instruction",
    0xC0000374: "damaged heap memory",
    0xC0000142: "a DLL that could not be started",
}


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if "nvidia-container-cli:" in text:  # the exit status is that of the tool, and its message says more
        return
    if found := _TERMINATE.search(text):
        what = f"an exception of type {found[1]} that was not caught" if found[1] else "std::terminate"
        said = next((line.strip() for line in near.after(1) if "what():" in line), "")
        if found[1] and _OF_CUDA.match(found[1]) and (status := told(said)) and not status.distinct and "Error" not in said:
            yield status_event(status, "")
        yield _event(
            "cpp-terminated",
            f"The C++ runtime ended the process: {what}{f' ({said[:160]})' if said else ''}.",
            found[1] or "",
        )
    elif found := _UNCAUGHT.search(text):
        said = f"The C++ runtime ended the process: an exception of type {found[1]} that was not caught"
        yield _event("cpp-terminated", f"{said}{f' ({found[2].strip()})' if found[2] else ''}.", found[1])
    elif found := _RESTARTED.match(text):
        said = f"Kubernetes has restarted {found[1]} {found[2]} times; the reason is in its own output."
        yield _event("process-ended", said, found[1], f"kubectl logs --previous {found[1]}")
    elif found := _WAITS.search(text):
        said = f"Kubernetes waits before it starts a container again ({found[1]}); the reason is in the container's own output."
        yield _event("process-ended", said, found[1], "kubectl logs --previous POD")
    elif _WATCHDOG.search(text) and not unrecognised.is_calm(text):
        yield Event(
            "watchdog",
            "report",
            "A watchdog of the program saw no progress: the work hangs, or takes longer than the watchdog allows.",
            (("what", "watchdog"),),
            ("not proved: what it waits for; the stacks of all threads show it",),
            ("hang",),
            _next.HANG,
            sure=False,
        )
    elif _UNANSWERED.search(text):
        yield Event(
            "worker-silent",
            "report",
            "A worker process did not answer in time: its work on the device hangs, takes long, or the process ended.",
            (("what", "worker"),),
            ("not proved: what the worker waits for; the stacks of all workers show it",),
            ("hang",),
            _next.HANG,
            sure=False,
            warning=unrecognised.is_calm(text) or " INFO " in text,
        )
    elif _LIMIT.search(text):
        yield _event(
            "over-time",
            "The job or test was stopped because it ran longer than its limit: it may hang.",
            "time",
            _next.HANG,
        )
    elif _MEMORY.search(text) and not _DEVICE.search(text) and not source(text):
        yield _event("killed-for-memory", "The process was killed because host memory ran out.", "memory")
    else:
        yield from _ended(near)


def _ended(near: Near) -> Iterator[Event]:
    if _FRAME.match(near.text) and not any(_FRAME.match(line) for line in near.before(3)):
        yield _stack([near.text, *near.after(MOST_FRAMES)], next(iter(near.before(1)), ""))
        return
    if _PYTHON.match(near.text) and not any(_PYTHON_ABOVE.search(line) for line in near.before(60)):
        raised = next((hit for hit in map(_RAISED.match, map(str.strip, near.after(60))) if hit), None)
        end = f"it ends with {raised[0][:160].rstrip('.')}" if raised else "the exception is at its end, if that was pasted"
        said = f"The log has a stack trace of Python without its beginning; {end}."
        yield _event("python-stack", said, raised[1] if raised else "python")
        return
    if _GO.search(near.text):
        yield _event(
            "go-stack",
            "The log has a stack trace of the Go runtime: it ended the process; the reason is above it.",
            "go",
        )
        return
    if _NOTEBOOK.search(near.text):
        said = "The Python process of a notebook ended (Jupyter calls it the kernel); the reason is in its own output."
        yield _event("process-ended", said, "notebook")
        return
    if found := _BUILD.search(near.text):
        tool = (found["tool"] or found["script"] or found["last"] or "").replace("\\", "/").rsplit("/", 1)[-1]
        said = f"A build step failed: {tool} reported an error; the reason is in its own output."
        yield Event("build-step-failed", "ending", said, (("tool", tool),), next=_next.DOCTOR)
        return
    if found := _ALONE.match(near.text):
        yield _stopped(ALONE[found[1]])
        return
    how = _how(near.text) if "closing signal" not in near.text else ""  # torchrun stops the other ranks in this way
    if how:
        above = near.before(2) if "exitcode" in near.text else []
        rank = next((hit for hit in map(_RANK.search, (near.text, *above)) if hit), None)
        who = f"Rank {next(filter(None, rank.groups()))}" if rank else "A process"
        yield _event("process-ended", f"{who} ended {how}; the reason is in its own output.", how)


def _stack(lines: list[str], above: str) -> Event:
    """A stack trace whose message no other format reads; functions that end a process show that it gave up by itself."""
    frames = [line.strip() for line in lines if _FRAME.match(line)]
    gave_up = any(host_crash.GAVE_UP.search(frame) for frame in frames[:4])
    inside = next((frame for frame in frames if host_crash.DRIVER.search(frame)), "")
    where = f", inside a GPU driver or its compiler ({inside[:120]})" if inside else ""
    if unrecognised.reads_like_a_failure(above):
        said = f"The host process printed a stack trace{where} after this line: {above.strip()[:160].rstrip('.:')}."
        return _event("host-abort" if gave_up else "host-stack", said, "stack")
    if gave_up:
        return _event("host-abort", f"The log has a stack trace of a process that aborted{where}; the reason is not in it.", "stack")
    return _event("host-stack", f"The log has a stack trace of the host process without the reason for it{where}.", "stack")


def _stopped(signal: str) -> Event:
    """A process that somebody stopped. Ctrl-C is what people do with a program that hangs, and with one that they have seen enough of."""
    said = f"The process was stopped from outside ({signal}); if it hung, the log shows what it did last."
    return replace(_event("process-ended", said, signal, _next.HANG), warning=signal == "SIGINT")


def _how(text: str) -> str:
    if _POSSIBLE.search(text):  # a list of what may have happened
        return "early" if _DIED.search(text) else ""
    signal = _SIGNAL.search(text)
    code = _CODE.search(text)
    number = int(code[1], 0 if code[1].lower().startswith("0x") else 10) if code else 0
    if number >= EXTENDED:  # a negative number of 32 bits, extended to 64 and rounded where JavaScript printed it
        return f"with an exception of Windows (exit code {number}, {number & 0xFFFFFFFF:#x} or near it)"
    if code and number & 0xFFFFFFFF in WINDOWS:
        return f"with {WINDOWS[number & 0xFFFFFFFF]} (exit code {number & 0xFFFFFFFF:#x})"
    if code and (number - 128 in SIGNALS or -number in SIGNALS):
        return f"by {SIGNALS[number - 128 if number > 128 else -number]} (exit code {number})"
    if signal:
        name = (signal[2] or SIGNALS.get(int(signal[1] or 0), "") or signal[3] or f"signal {signal[1]}").strip()
        return f"by {name}"
    if code and number:
        return f"with exit code {number}"
    return "early" if _DIED.search(text) else ""


def _event(kind: str, message: str, fact: str, command: str = _next.RECORD) -> Event:
    return Event(kind, "ending", message, (("how", fact[:80]),), next=command)
