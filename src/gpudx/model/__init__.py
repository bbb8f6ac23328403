"""What flows through gpudx: frozen dataclasses over the standard library, and nothing else."""

from gpudx.model.case import SCHEMA, Case, Instrument, Outcome, ProcessInfo
from gpudx.model.diagnosis import (
    Allocation,
    Diagnosis,
    Expectation,
    Guilty,
    Hypothesis,
    Observation,
    Prediction,
    Status,
    Verdict,
    Victim,
)
from gpudx.model.finding import Evidence, Finding, Severity, Site
from gpudx.model.investigation import Asked, Cell, Failure, Investigation, Row, Stop, Trial
from gpudx.model.kernel_builds import KernelBuild
from gpudx.model.occupancy import Built, Occupancy

__all__ = [
    "SCHEMA",
    "Allocation",
    "Asked",
    "Built",
    "Case",
    "Cell",
    "Diagnosis",
    "Evidence",
    "Expectation",
    "Failure",
    "Finding",
    "Guilty",
    "Hypothesis",
    "Instrument",
    "Investigation",
    "KernelBuild",
    "Observation",
    "Occupancy",
    "Outcome",
    "Prediction",
    "ProcessInfo",
    "Row",
    "Severity",
    "Site",
    "Status",
    "Stop",
    "Trial",
    "Verdict",
    "Victim",
]
