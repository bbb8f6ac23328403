"""Python tracebacks: the exception, and the innermost line of the program's own code.

If the exception reports an error of the device, the line is where it was noticed. Lines of the program's own code are preferred
to those of installed packages; if there are none, the innermost line is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import LAST_PARTS

FORMAT = "python-traceback"
MARKS = ("Traceback (most recent call last)", "Fatal Python error: ")
_FATAL = re.compile(r"Fatal Python error: (\w[^:]{0,60}: .{3,160})")  # a signal has no text behind it
_FRAME = re.compile(r'\s*File "([^"]+)", line (\d+)(?:, in (.+))?')
_RAISED = re.compile(
    r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failed|OutOfResources|Timeout))(?::\s*(.*))?$"
)
_NOTEBOOK = re.compile(r"([A-Za-z_][\w.]*) +Traceback \(most recent call last\)")  # IPython and Jupyter
_CELL = re.compile(r"^(?:File (\S+?):(\d+)|Cell In\[(\d+)\], line (\d+)|Input In \[(\d+)\])")
INSTALLED = ("site-packages", "dist-packages", "/lib/python", "<frozen")


def read(near: Near) -> Iterator[Event]:
    if fatal := _FATAL.search(near.text):
        said = f"Python could not continue:  {fatal[1].rstrip('.')}."
        yield Event("python-fatal", "ending", said, (("said", fatal[1][:60]),))
        return
    if heading := _NOTEBOOK.match(near.text.strip()):
        yield from _notebook(heading[1], near)
        return
    frames: list[tuple[str, str, str]] = []
    indent = len(near.text) - len(near.text.lstrip())
    for number, line in enumerate(near.after(), start=1):
        frame = _FRAME.match(line)
        if frame:
            frames.append((frame[1], frame[2], (frame[3] or "").strip()))
        elif line.strip() and len(line) - len(line.lstrip()) <= indent:
            raised = _RAISED.match(line.strip())
            if raised:
                below = next((one.strip() for one in near.after()[number : number + 2] if one.strip()), "")
                text = raised[2] or (below if line.rstrip().endswith(":") else "")
                yield _event(raised[1], text, frames, near.line + number, line)
            elif frames:
                yield _event("an exception that is not named below it", "", frames, near.line, near.text)
            return
    if frames:
        yield _event("an exception whose name was not pasted", "", frames, near.line, near.text)


def _notebook(kind: str, near: Near) -> Iterator[Event]:
    """IPython names the exception first, and repeats it with its text at the end."""
    frames: list[tuple[str, str, str]] = []
    for number, line in enumerate(near.after(), start=1):
        if found := _CELL.match(line.strip()):
            file = found[1] or f"cell {found[3] or found[5]}"
            frames.append((file, found[2] or found[4] or "1", ""))
        elif line.startswith(f"{kind}:"):
            yield _event(kind, line.partition(":")[2].strip(), frames, near.line + number, line)
            return
    yield _event(kind, "", frames, near.line, near.text)


def _event(kind: str, text: str, frames: list[tuple[str, str, str]], line: int, quote: str) -> Event:
    own = [one for one in frames if not any(part in one[0] for part in INSTALLED)]
    file, number, function = (own or frames or [("", "", "")])[-1]
    short = "/".join(file.replace("\\", "/").split("/")[-LAST_PARTS:])
    where = f" at {short}:{number}{f' in {function}' if function else ''}" if file else ""
    return Event(
        kind="python-exception",
        role="ending",
        message=f"Python raised {kind}{where}.",
        facts=(("exception", kind), ("at", f"{short}:{number}" if file else "")),
        notes=(f"it reports: {text[:200]}",) if text else (),
        line=line,
        quote=quote.strip(),
    )
