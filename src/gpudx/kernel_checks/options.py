"""The options of clBuildProgram and the device: what the preprocessor has to know, and what our own build gets."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from gpudx.kernel_checks.errors import Unsupported

DROPPED = ("-Werror", "-w", "-g", "-cl-kernel-arg-info")
VERSIONS = {"1.0": 100, "1.1": 110, "1.2": 120, "2.0": 200, "3.0": 300}


@dataclass(frozen=True)
class Device:
    c_version: str = ""  # "OpenCL C 1.2 ..."
    version: str = ""  # "OpenCL 3.0 ..."
    vendor: str = ""
    extensions: str = ""
    address_bits: int = 64
    folder: str = ""  # where the program runs


@dataclass
class Options:
    defined: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    version: int = 120
    kept: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join([*self.kept, "-w"])


def read(text: str) -> Options:
    out = Options()
    try:
        words = shlex.split(text)
    except ValueError:
        raise Unsupported("its build options are not understood") from None
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word[:2] in ("-D", "-I"):
            value = word[2:]
            if not value and at < len(words):
                value, at = words[at], at + 1
            if word[:2] == "-I":
                out.folders.append(value)
            else:
                name, _, body = value.partition("=")
                out.defined[name] = body if "=" in value else "1"
        elif match := re.fullmatch(r"-cl-std=CL(\d\.\d)", word):
            if match[1] not in VERSIONS:
                raise Unsupported(f"{word} is not known")
            out.version = VERSIONS[match[1]]
            # What is added to the source is OpenCL C 1.2: compilers know no static functions before.
            out.kept.append(word if out.version >= 120 else "-cl-std=CL1.2")
        elif word.startswith("-cl-std"):
            raise Unsupported(f"{word} is not OpenCL C")
        elif word.startswith("-x") or word in ("-create-library", "-include"):
            raise Unsupported(f"the option {word} is not understood")
        elif word not in DROPPED and not word.startswith("-W"):
            out.kept.append(shlex.quote(word) if re.search(r"\s", word) else word)
    return out


def macros(options: Options, device: Device) -> dict[str, str]:
    """Those of the language and the device (OpenCL C specification, 6.13), and those of the options."""
    found = re.search(r"OpenCL (\d)\.(\d)", device.version)
    version = int(found[1]) * 100 + int(found[2]) * 10 if found else 120
    out = {"__OPENCL_VERSION__": str(version), "__OPENCL_C_VERSION__": str(options.version), "__ENDIAN_LITTLE__": "1"}
    out |= {"__IMAGE_SUPPORT__": "1", "CL_VERSION_1_0": "100", "CL_VERSION_1_1": "110", "CL_VERSION_1_2": "120"}
    out |= {"CL_VERSION_2_0": "200"} if options.version >= 200 else {}
    out |= {"CL_VERSION_3_0": "300"} if options.version >= 300 else {}
    out |= {"__FAST_RELAXED_MATH__": "1"} if "-cl-fast-relaxed-math" in options.kept else {}
    out |= dict.fromkeys(device.extensions.split(), "1")
    return out | options.defined


def folders(options: Options, device: Device) -> tuple[Path, ...]:
    base = Path(device.folder or ".")
    return tuple(base / folder for folder in (*options.folders, "."))
