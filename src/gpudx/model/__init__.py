"""The types that flow through gpudx: frozen dataclasses over the standard library, and nothing else.

A name is imported when it is first asked for: `gpudx run` needs few of them before it starts the program, and making a dataclass takes
half a millisecond.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.model.case import SCHEMA, Case, Instrument, Outcome, ProcessInfo
    from gpudx.model.cause import Cause
    from gpudx.model.device_fault import DeviceFault
    from gpudx.model.diagnosis import (
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
    from gpudx.model.finding import (
        Access,
        Allocation,
        Attribution,
        Certainty,
        DeviceCode,
        Evidence,
        Finding,
        Framework,
        Interval,
        OrderPair,
        Origin,
        Scope,
        Severity,
        Site,
        Symptom,
        Written,
    )
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
    "Access",
    "Allocation",
    "Asked",
    "Attribution",
    "Built",
    "Case",
    "Cause",
    "Cell",
    "Certainty",
    "DeviceCode",
    "DeviceFault",
    "Diagnosis",
    "Drawing",
    "Driver",
    "Evidence",
    "Expectation",
    "Failure",
    "FailureClass",
    "Finding",
    "Framework",
    "Given",
    "Guilty",
    "Hypothesis",
    "Identity",
    "Instrument",
    "Interval",
    "Investigation",
    "KernelBuild",
    "Lack",
    "LoadedObject",
    "Making",
    "Observation",
    "Occupancy",
    "OrderPair",
    "Origin",
    "Outcome",
    "Package",
    "Prediction",
    "Probe",
    "ProcessInfo",
    "Row",
    "Scope",
    "Setting",
    "Severity",
    "Site",
    "Source",
    "SourceTree",
    "Status",
    "Step",
    "Stop",
    "Symptom",
    "Trial",
    "Verdict",
    "Victim",
    "Written",
]

# Which module of this folder has which names.
HOMES = {
    "case": "SCHEMA Case Instrument Outcome ProcessInfo",
    "cause": "Cause",
    "device_fault": "DeviceFault",
    "diagnosis": "Diagnosis Expectation Guilty Hypothesis Observation Prediction Status Verdict Victim",
    "drawing": "Drawing",
    "finding": (
        "Access Allocation Attribution Certainty DeviceCode Evidence Finding Framework Interval OrderPair Origin Scope Severity Site "
        "Symptom Written"
    ),
    "identity": "Driver Identity Lack LoadedObject Making Package Probe Setting Source SourceTree Step",
    "investigation": "Asked Cell Failure FailureClass Given Investigation Row Stop Trial",
    "kernel_builds": "KernelBuild",
    "occupancy": "Built Occupancy",
}


def __getattr__(name: str) -> object:
    for module, names in HOMES.items():
        if name in names.split():
            found: object = getattr(import_module(f"gpudx.model.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
