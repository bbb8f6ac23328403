"""What flows through gpudx: frozen dataclasses over the standard library, and nothing else."""

from gpudx.model.case import SCHEMA, Case, Instrument, Outcome, ProcessInfo
from gpudx.model.diagnosis import (
    Allocation,
    Diagnosis,
    Experiment,
    Guilty,
    Hypothesis,
    Observation,
    Status,
    Verdict,
    Victim,
)
from gpudx.model.finding import Evidence, Finding, Severity, Site

__all__ = [
    "SCHEMA",
    "Allocation",
    "Case",
    "Diagnosis",
    "Evidence",
    "Experiment",
    "Finding",
    "Guilty",
    "Hypothesis",
    "Instrument",
    "Observation",
    "Outcome",
    "ProcessInfo",
    "Severity",
    "Site",
    "Status",
    "Verdict",
    "Victim",
]
