"""Where the text of a kernel is in the user's files: literals, raw strings, macros that make strings, .cl files, Python, formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.facts.kernel_files import place

KERNEL = """__kernel void add(__global const float *a, __global float *b, int n) {
  int i = get_global_id(0);
  if (i < n)
    b[i] = a[i + 1];
}
"""
LITERALS = """#include <CL/cl.h>
static const char *usage = "add FILE";
/* the kernel's text */
static const char *source =
    "__kernel void add(__global const float *a, __global float *b, int n) {\\n"
    "  int i = get_global_id(0);\\n"
    "  if (i < n)\\n"
    "    b[i] = a[i + 1];\\n"
    "}\\n";
"""
RAW = f'auto source = R"CLC({KERNEL})CLC";\nint main() {{ return 0; }}\n'
PYTHON = f"import pyopencl\n\nSOURCE = \"\"\"{KERNEL}\"\"\"\n"
MACRO = f"#define STR(...) #__VA_ARGS__\nconst char *source = STR(\n{KERNEL});\n"


def found(folder: Path, text: str, line: int, shown: str = "", nth: int = 0) -> tuple[str, int] | None:
    at = place(text, line, shown, nth, (str(folder),))
    return (Path(at[0]).name, at[1]) if at else None


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [("a.c", LITERALS, 8), ("a.cpp", RAW, 4), ("a.py", PYTHON, 6), ("add.cl", KERNEL, 4), ("kernels/add.cl", KERNEL, 4)],
)
def test_a_line_of_a_kernel_is_found(tmp_path: Path, name: str, content: str, line: int) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    assert found(tmp_path, KERNEL, 4) == (file.name, line)


def test_a_macro_that_makes_one_line_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(MACRO)
    one_line = " ".join(KERNEL.split())
    assert found(tmp_path, one_line, 1, "a[i + 1]") == ("a.c", 6)
    assert found(tmp_path, one_line, 1, "i < n") == ("a.c", 5)


BRANCHES = """#include <CL/cl.h>
static const char *source =
    "__kernel void add(__global const float *a, __global float *b, int n) {\\n"
    "  int i = get_global_id(0);\\n"
#ifdef GUARDED
    "  if (i < n)\\n"
#ifdef TWICE
    "    b[i] = 2 * a[i + 1];\\n"
#else
    "    b[i] = a[i + 1];\\n"
#endif
#else
    "    b[i] = a[i];\\n"
#endif
    "}\\n";
"""


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (KERNEL, 4, 10),
        (KERNEL, 5, 15),
        (KERNEL.replace("= a[", "= 2 * a["), 4, 8),
        (KERNEL.replace("  if (i < n)\n    b[i] = a[i + 1]", "    b[i] = a[i]"), 3, 13),
    ],
)
def test_strings_of_the_branch_that_was_compiled(tmp_path: Path, text: str, line: int, expected: int) -> None:
    (tmp_path / "a.c").write_text(BRANCHES)
    assert found(tmp_path, text, line) == ("a.c", expected)


def test_branches_that_do_not_fit_are_not_guessed(tmp_path: Path) -> None:
    """A line that no branch has; a directive that is the kernel's own; a comment of Python."""
    own = KERNEL.replace("  if (i < n)\n", "#ifdef GUARDED\n  if (i < n)\n#endif\n")
    files = {"a.c": BRANCHES, "a.cpp": RAW.replace(KERNEL, own), "a.py": f"# if it is\n{PYTHON}# endif\n"}
    for name, content in files.items():
        (tmp_path / name[2:]).mkdir()
        (tmp_path / name[2:] / name).write_text(content)
    assert found(tmp_path / "c", KERNEL.replace("a[i + 1]", "a[i + 3]"), 4) is None
    assert found(tmp_path / "cpp", own, 6) == ("a.cpp", 6)
    assert found(tmp_path / "py", KERNEL, 4) == ("a.py", 7)


def test_literals_without_ends_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LITERALS.replace("\\n", " "))
    assert found(tmp_path, KERNEL.replace("\n", " "), 1, "a[i + 1]") == ("a.c", 8)


def test_the_same_expression_twice_in_a_line(tmp_path: Path) -> None:
    text = "kernel void k(global int *total, int n) {"
    (tmp_path / "a.c").write_text(f'char *s = "{text}"\n  "total[n] = 1;"\n  "barrier(1); total[n] = 2;"\n  "}}";\n')
    whole = text + "total[n] = 1;barrier(1); total[n] = 2;}"
    assert found(tmp_path, whole, 1, "total[n]", 0) == ("a.c", 2)
    assert found(tmp_path, whole, 1, "total[n]", 1) == ("a.c", 3)


def test_a_line_that_was_put_together_lies_between_its_neighbours(tmp_path: Path) -> None:
    text = KERNEL.replace("}\n", "  /* nothing else */\n}\n")
    (tmp_path / "a.py").write_text(f'S = f"""{text}"""'.replace("a[i + 1]", "a[i + {shift}]").replace("if (i < n)", "if (i < n) //x"))
    assert found(tmp_path, text.replace("if (i < n)", "if (i < n) //x"), 4) == ("a.py", 4)


def test_a_line_that_is_in_the_file_does_not_lie_between_the_neighbours_of_another(tmp_path: Path) -> None:
    """The barrier of the second kernel is put together, so that its last line has no row of lines around it."""
    other = "kernel void other(global float *a) {\n  barrier(CLK_GLOBAL_MEM_FENCE);\n  a[0] = a[1];\n}\n"
    text = "kernel void k(global float *o, local float *t) {\n  barrier(CLK_GLOBAL_MEM_FENCE);\n  o[1] = t[2];\n}\n"
    (tmp_path / "a.cl").write_text(other + text.replace("CLK_GLOBAL_MEM_FENCE", "FENCE"))
    assert found(tmp_path, text, 3) is None
    assert found(tmp_path, other, 3) == ("a.cl", 3)


def test_braces_of_formats_are_doubled(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PYTHON.replace("{", "{{").replace("}", "}}"))
    assert found(tmp_path, KERNEL, 1) == ("a.py", 3)


def test_nothing_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LITERALS)
    assert found(tmp_path, "__kernel void other(__global int *o) {\n  o[0] = 1;\n}\n", 2) is None, "another kernel"
    assert found(tmp_path, KERNEL, 99) is None and found(tmp_path, KERNEL, 0) is None, "no such line"
    (tmp_path / "copy.c").write_text(LITERALS)
    assert place(KERNEL, 4, "", 0, (str(tmp_path), "/nowhere")) is None, "two files have it"


def test_a_binary_or_unreadable_file_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "b.c").symlink_to(tmp_path / "gone")
    assert found(tmp_path, KERNEL, 4) is None


def test_a_copy_in_a_folder_below_is_not_as_near(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name in ("a.c", "old/a.c"):
        (tmp_path / name).write_text(LITERALS)
    assert place(KERNEL, 4, folders=(str(tmp_path),)) == (str(tmp_path / "a.c"), 8)
    assert place(KERNEL, 4, folders=(str(tmp_path),), first=(str(tmp_path / "old/a.c"),)) == (str(tmp_path / "old/a.c"), 8)
