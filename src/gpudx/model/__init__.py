"""What flows through gpudx: frozen dataclasses over the standard library, and nothing else."""

from gpudx.model.case import SCHEMA, Case, Instrument, Outcome, ProcessInfo
from gpudx.model.device_fault import DeviceFault
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
from gpudx.model.drawing import Drawing
from gpudx.model.finding import Evidence, Finding, Severity, Site
from gpudx.model.fingerprint import fingerprint
from gpudx.model.identity import (
    Driver,
    Identity,
    Lack,
    LoadedObject,
    Making,
    Package,
    Probe,
    Setting,
    Source,
    SourceTree,
    Step,
)
from gpudx.model.investigation import Asked, Cell, Failure, FailureClass, Given, Investigation, Row, Stop, Trial
from gpudx.model.kernel_builds import KernelBuild
from gpudx.model.occupancy import Built, Occupancy

__all__ = [
    "SCHEMA",
    "Allocation",
    "Asked",
    "Built",
    "Case",
    "Cell",
    "DeviceFault",
    "Diagnosis",
    "Drawing",
    "Driver",
    "Evidence",
    "Expectation",
    "Failure",
    "FailureClass",
    "Finding",
    "Given",
    "Guilty",
    "Hypothesis",
    "Identity",
    "Instrument",
    "Investigation",
    "KernelBuild",
    "Lack",
    "LoadedObject",
    "Making",
    "Observation",
    "Occupancy",
    "Outcome",
    "Package",
    "Prediction",
    "Probe",
    "ProcessInfo",
    "Row",
    "Setting",
    "Severity",
    "Site",
    "Source",
    "SourceTree",
    "Status",
    "Step",
    "Stop",
    "Trial",
    "Verdict",
    "Victim",
    "fingerprint",
]
