"""The preprocessor agrees with C, and says so where only the driver could know."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.preprocess import Preprocessor, as_numbered

DEVICE = {"__OPENCL_C_VERSION__": "120", "cl_khr_fp64": "1"}


def expanded(source: str, defined: dict[str, str] | None = None, folder: Path | None = None, vendor: str = "") -> str:
    folders = (folder,) if folder else ()
    text = Preprocessor({**DEVICE, **(defined or {})}, folders, vendor).run(source).text
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("#define N 4\nint a[N];", "int a[4];"),
        ("#define SQ(x) ((x)*(x))\nSQ(a + 1)", "((a + 1)*(a + 1))"),
        ("#define CAT(a, b) a##b\nCAT(x, 1)", "x1"),
        ("#define S(x) #x\nS(a b)", '"a b"'),
        ("#define F(...) g(__VA_ARGS__)\nF(1, 2)", "g(1, 2)"),
        ("#define A B\n#define B A\nA", "A"),
        ("#define f(x) x\n#define g f\ng(3)", "3"),
        ("#define f(x) x + f(x)\nf(1)", "1 + f(1)"),
        ("#define M(a,\\\n b) a-b\nM(1,\n 2)", "1-2"),
        ("/* a\n b */ int x; // y\n", "int x;"),
        ("#if defined(cl_khr_fp64) && __OPENCL_C_VERSION__ >= 120\nyes\n#else\nno\n#endif", "yes"),
        ("#ifdef NOPE\na\n#elif 0x10 == 16 && !0\nb\n#else\nc\n#endif", "b"),
        ("#if 1 ? 0 : 1\na\n#else\nb\n#endif", "b"),
        ('char *s = "/* no comment */ N";', 'char *s = "/* no comment */ N";'),
        ("#undef cl_khr_fp64\n#ifdef cl_khr_fp64\na\n#endif\nb", "b"),
        ("#pragma unroll 4\nx", "#pragma unroll 4 x"),
        ("#ifndef __NV_CL_C_VERSION\nother\n#endif", "other"),
    ],
)
def test_expansion(source: str, text: str) -> None:
    assert expanded(source) == text


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("#ifdef __x86_64__\n#endif", "only the driver"),
        ("#if 1\n", "not closed"),
        ("#endif\n", "without #if"),
        ('#include "nowhere.h"\n', "not found"),
        ("#error no\n", "#error"),
        ("int a??(2??);", "trigraphs"),
        ("#define A B B\n#define B C C\n#define C D D\n" + "".join(f"#define {chr(68 + n)} {chr(69 + n)} {chr(69 + n)}\n" for n in range(21)) + "A", "too much"),  # noqa: E501
        ("#if (1\n#endif", "not understood"),
    ],
)  # fmt: skip
def test_what_is_left_to_the_driver(source: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        expanded(source)


def test_a_vendor_macro_on_its_own_device_is_not_guessed() -> None:
    with pytest.raises(Unsupported):
        expanded("#ifdef __NV_CL_C_VERSION\n#endif", vendor="NVIDIA Corporation")


def test_macros_with_parameters_from_the_options() -> None:
    assert expanded("M(x)", {"S(x)": "#x", "M(x)": "S(x)"}) == '"x"'


def test_names_of_the_programs_own_are_not_the_drivers() -> None:
    assert expanded("#ifdef _unroll\na\n#endif\nb") == "b"
    assert expanded("#ifndef __mine_hpp\n#define __mine_hpp\nint x;\n#endif\n") == "int x;"


def test_processors_that_this_machine_has_not() -> None:
    assert expanded("#if defined(__sparc__) || defined(__mips64)\na\n#endif\nb") == "b"


def test_a_header_beside_the_one_that_includes_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "sub" / "b.h").write_text("int found;\n")
    assert expanded('#include "sub/a.h"\n', folder=tmp_path) == "int found;"


def test_includes_and_lines(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("#pragma once\n#define TWO 2\nint h;\n")
    done = Preprocessor(DEVICE, (tmp_path,)).run(
        '#include "a.h"\n#include "a.h"\nint x = TWO;\n#line 100 "other.cl"\nint y;\n'
    )
    place = {line.strip(): where for line, where in zip(done.text.splitlines(), done.lines, strict=True)}
    assert place["int h;"] == ("a.h", 3)
    assert place["int x = 2;"] == ("", 3)
    assert place["int y;"] == ("other.cl", 100)


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "me.h").write_text('#include "me.h"\n')
    with pytest.raises(Unsupported, match="nested too deeply"):
        expanded('#include "me.h"\n', folder=tmp_path)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\nb", "a\nb"),
        ("#define X 1\n#line 1\na\nb", "a\nb"),
        ("a\n#line 4\nd", "a\n\n\nd"),
        ('a\n#line 9 "other.cl"\nnot here\n', "a"),
        ("#line 99999999999\na", ""),
        ("", ""),
    ],
)
def test_lines_stand_where_their_numbers_say(source: str, text: str) -> None:
    assert as_numbered(source) == text
