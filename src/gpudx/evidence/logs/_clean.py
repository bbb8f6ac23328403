"""What terminals, CI systems, containers, journals and Markdown wrap around a line, taken off again."""

from __future__ import annotations

import re

LONGEST = 4096  # characters of a line that are read

# CSI and OSC sequences (ECMA-48, 5.4 and 5.6): colours, cursor movements, links.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_PREFIXES = re.compile(
    r"""
      \s*>\s                                                          # a Markdown quote
    | //\s(?=(?:Error|Warning):\s)                                     # Maya
    | \d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[:\s]\s?  # CI systems, loggers
    | \[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?\]\s              # loggers
    | \#\#\[\w+\] | ::(?:error|warning|notice)[^:\n]{0,200}::         # GitHub
    | [\w.-]{1,60}\s*\|\s                                             # docker compose
    | [A-Z][a-z]{2}\s+\d{1,2}\ \d\d:\d\d:\d\d(?:\.\d+)?\ [\w.-]{1,64}\ [\w./-]{1,64}(?:\[\d+\])?:\s  # journald, syslog
    | \[\d+(?:,\d+)?\]<std(?:err|out)>:\s?                            # mpirun, Horovod
    | \[(?:rank|default)\d+\]:\s?                                     # torchrun
    | \([\w\ ]{1,40}(?:rank=\d+\ )?pid=\d+[^)]{0,60}\)\s              # workers of ray and others
    """,
    re.VERBOSE,
)
_LEVEL = re.compile(r"(?:ERROR|WARNING|INFO|CRITICAL|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[[\w./-]{1,80}:\d+\] ?")
MOST_PREFIXES = 4


def clean_block(block: bytes) -> bytes:
    """A block of a file without escape sequences and NULs, which also makes Latin UTF-16 readable; ends are LF."""
    if b"\x1b" in block:
        block = _ESCAPES.sub(b"", block)
    if b"\0" in block:
        block = block.replace(b"\0", b"")
    return block.replace(b"\r\n", b"\n") if b"\r\n" in block else block


def clean_line(line: bytes) -> str:
    """One line as text, without wrappers. Its indentation stays, for what stands under a headline."""
    text = line[: LONGEST * 4].decode("utf-8", "replace")[:LONGEST].rstrip()
    for _ in range(MOST_PREFIXES):
        match = _PREFIXES.match(text) or _LEVEL.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text
