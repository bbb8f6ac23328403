"""AMD's target ids: which code objects a device can run (LLVM, "User Guide for AMDGPU Backend").

A target id is a processor with features, as gfx906:sramecc+:xnack-. Code that names a feature runs only where it is set so; code
that does not name it runs either way ("Target ID"). A generic processor stands for a family ("Generic Processors"), SPIR-V is
compiled for the device when it is loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SPIRV = "spirv64"  # of no vendor
SPIRVS = ("amdgcnspirv", SPIRV)
PROCESSOR = re.compile(r"gfx(\d{1,2})(\d)([0-9a-f])")
GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


@dataclass(frozen=True)
class Target:
    """A processor with the features that are named: "xnack" -> on."""

    processor: str
    features: tuple[tuple[str, bool], ...] = ()

    @property
    def major(self) -> int:
        """9 for gfx90a, 10 for gfx1030 and gfx10-3-generic; 0 if that is not known."""
        found = PROCESSOR.fullmatch(self.processor) or re.match(r"gfx(\d+)-", self.processor)
        return int(found[1]) if found else 0

    def runs_on(self, device: Target) -> bool:
        """Can code of this target run on such a device? A feature that either does not name is no reason against it."""
        here = dict(device.features)
        known = self.processor in (*SPIRVS, device.processor) or device.processor in GENERIC.get(self.processor, ())
        return known and all(here.get(name, on) == on for name, on in self.features)


_NAMED, _IN_TRIPLE = re.compile(r"-((?:gfx|amdgcnspirv|sm_).*)$"), re.compile(r"-(spirv\d*)-")


def in_entry(name: str) -> str:
    """The target in the name of a bundle's entry: "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-" -> "gfx906:xnack-"; SPIR-V for any device
    has it in the triple, as in "hip-spirv64-unknown-chipstar--generic". "" for the host's."""
    found = _NAMED.search(name) or _IN_TRIPLE.search(name)
    return found[1] if found else ""


def parse(text: str) -> Target:
    """ "gfx906:sramecc+:xnack-" as a target; anything else is a processor that nothing else is equal to."""
    processor, *features = text.split(":")
    return Target(processor, tuple((name[:-1], name.endswith("+")) for name in features if name[-1:] in ("+", "-")))
