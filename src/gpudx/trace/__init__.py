"""Bytes to tables: the only place that knows how a trace file is laid out."""

from gpudx.trace.reader import Gap, Trace, open_case, open_trace, open_traces
from gpudx.trace.schema import CallInfo, TraceSchema

__all__ = ["CallInfo", "Gap", "Trace", "TraceSchema", "open_case", "open_trace", "open_traces"]
