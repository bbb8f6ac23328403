"""Reads a trace file into tables; the only place that knows its layout."""

from gpudx.trace.opening import open_case, open_trace, open_traces
from gpudx.trace.reader import Gap, Trace
from gpudx.trace.schema import CallInfo, TraceSchema

__all__ = ["CallInfo", "Gap", "Trace", "TraceSchema", "open_case", "open_trace", "open_traces"]
