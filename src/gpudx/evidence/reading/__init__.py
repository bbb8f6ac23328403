"""The readers of this package for the rest of gpudx: log files, sources, device code, and how far off a number was."""

from gpudx.evidence._device_code import Contents
from gpudx.evidence._lines import chunks
from gpudx.evidence._magnitudes import told as error_size
from gpudx.evidence.logs._clean import clean_line
from gpudx.evidence.logs._context import said
from gpudx.evidence.logs._event import NOT_UNDERSTOOD, Event
from gpudx.evidence.logs._faults import faults_in
from gpudx.evidence.logs._fold import Log, Told, read_log
from gpudx.evidence.logs._made import was_never_made
from gpudx.evidence.logs._next import fit
from gpudx.evidence.logs._whole import read_whole
from gpudx.evidence.logs.unrecognised import is_prose
from gpudx.evidence.sources._compiled import read_source, read_sources

__all__ = [
    "NOT_UNDERSTOOD",
    "Contents",
    "Event",
    "Log",
    "Told",
    "chunks",
    "clean_line",
    "error_size",
    "faults_in",
    "fit",
    "is_prose",
    "read_log",
    "read_source",
    "read_sources",
    "read_whole",
    "said",
    "was_never_made",
]
