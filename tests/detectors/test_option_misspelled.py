"""option-misspelled: a macro that build options define, and that the source spells differently."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL

from gpudx.facts.near_names import are_near
from gpudx.model import Finding

ID = "option-misspelled"
SOURCE = """#ifndef RADIUS
#define RADIUS 3
#endif
kernel void blur(global float *p) { p[get_global_id(0)] = RADIUS; }
"""


def found(world: Make, look: Look, options: str, source: str = SOURCE) -> list[Finding]:
    return [one for one in look(world(source=source, options=options)) if one.id == ID]


def test_an_option_that_is_a_misspelled_default_of_the_source(world: Make, look: Look) -> None:
    (finding,) = found(world, look, "-cl-std=CL1.2 -DRADUIS=5")
    assert "-DRADUIS=5 defines a macro that no source uses. The source asks for `RADIUS`" in finding.message
    assert "built with RADIUS 3" in finding.message and "Write -DRADIUS=5" in finding.steps[0]
    assert (finding.severity, finding.attribution) == ("error", "probable")
    assert finding.site is not None and finding.site.call == "clBuildProgram"


def test_a_macro_that_stays_undefined(world: Make, look: Look) -> None:
    (finding,) = found(world, look, "-D USE_TEXTRUES", "#if defined(USE_TEXTURES)\n#endif\nkernel void f() {}")
    assert "as if USE_TEXTURES was never defined" in finding.message


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ("-DRADIUS=5", SOURCE),
        ("-DRADUIS=3", SOURCE),  # what the source has, too
        ("-DRADIUS=5 -DRADUIS=5", SOURCE),  # old and new name
        ("-DRADUIS=5", SOURCE + "int size = RADUIS;"),
        ("-DRADUIS=5", SOURCE + "// RADUIS was its name before 2.0"),
        ("-DTILE=16", SOURCE),  # unused, and nothing is called like it
        ("-DTILE_X=16", SOURCE.replace("RADIUS", "TILE_Y")),
        ("-DUSE_FP64", SOURCE.replace("RADIUS", "USE_FP16")),
        ("-DRADUIS=5", SOURCE.replace("#ifndef RADIUS\n", "#if 1\n")),  # no option could change it
        ("-DRADUIS=5", '#include "not_there.h"\n' + SOURCE),  # which may use it
    ],
)
def test_options_that_are_right_or_only_unused_are_silent(world: Make, look: Look, options: str, source: str) -> None:
    assert not found(world, look, options, source)


def test_headers_are_read(world: Make, look: Look, tmp_path: Path) -> None:
    (tmp_path / "radius.h").write_text("int size = RADUIS;\n")
    assert not found(world, look, f"-I {tmp_path} -DRADUIS=5", '#include "radius.h"\n' + SOURCE)
    (tmp_path / "radius.h").write_text("int size;\n")
    assert found(world, look, f"-I{tmp_path} -DRADUIS=5", '#include "radius.h"\n' + SOURCE)


def test_a_program_that_is_built_with_it(opencl: OpenCL) -> None:
    assert "The source asks for `RADIUS`" in opencl.run("misspelled_option", "-DRADUIS=5").only(ID).message
    assert not opencl.run("misspelled_option", "-DRADIUS=5").of(ID)
    assert not opencl.run("misspelled_option", "both").of(ID)


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("RADUIS", "RADIUS", True),
        ("BLOCKSIZE", "BLOCK_SIZE", True),
        ("blockSize", "BLOCK_SIZE", True),
        ("TILE", "TILE_SIZE", True),
        ("KSIZE", "K", True),
        ("NUM", "N", False),
        ("N_CHANEL", "N_CHANNEL", True),
        ("KERNEL_WITDH", "KERNEL_WIDTH", True),
        ("BLOCK_COUNT", "BLOCK_SIZE", False),
        ("BLOCK_X", "BLOCK_Y", False),
        ("ROWS", "COLS", False),
        ("SRC_WIDTH", "DST_WIDTH", False),
        ("USE_FLOAT", "USE_FLOAT4", False),
        ("LEVEL1", "LEVEL2", False),
        ("LOAD", "LEAD", False),
        ("MIN_DEPTH", "MAX_DEPTH", False),
    ],
)
def test_near_names(one: str, other: str, near: bool) -> None:
    assert are_near(one, other) is near and are_near(other, one) is near
