"""Real objects, built here: each program prints its own addresses and maps, and every name and line is checked."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.dwarf.abbrevtable import AbbrevTable
from elftools.elf.elffile import ELFFile

from gpudx.elf.abbreviations import Abbreviations
from gpudx.elf.image import Image
from gpudx.facts.maps import parse_maps
from gpudx.facts.symbols import Place, Symbols, pretty

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

LIBRARY = """\
#include <stdio.h>
__attribute__((noipa)) void note(const char *name)
{
    printf("%s %p\\n", name, __builtin_return_address(0));
}
__attribute__((noipa)) void in_library(void)
{
    note("library"); /* library */
    __asm__ volatile(""); /* or the call would become a jump */
}
"""
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
void note(const char *name);
void in_library(void);
int global = 7;
static inline __attribute__((always_inline)) void inner(void)
{
    note("inlined"); /* inlined */
}
static inline __attribute__((always_inline)) void outer(void)
{
    inner(); /* outer */
}
__attribute__((noipa)) void plain(void)
{
    note("plain"); /* plain */
    outer(); /* host */
    note("again");
}
__attribute__((noipa, noreturn)) void last(void)
{
    note("last"); /* last */
    FILE *maps = fopen("/proc/self/maps", "r");
    int local;
    void *small = malloc(10), *large = malloc(1 << 24);
    printf("stack %p\\nheap %p\\nlarge %p\\n", (void *)&local, small, large);
    printf("global %p\\ncode %p\\nMAPS\\n", (void *)&global, (void *)plain);
    for (int c; (c = getc(maps)) != EOF;)
        putchar(c);
    exit(0); /* exit */
}
int main(void)
{
    plain();
    in_library();
    last(); /* main */
}
"""
CPLUSPLUS = """\
extern "C" void note(const char *);
namespace outer { namespace {
struct Thing {
    Thing() { note("constructor"); } // constructor
    __attribute__((noinline)) int method(int x) const { note("method"); return x + 1; } // method
    int value = 3;
};
}
__attribute__((noinline)) int free_function(int x) { Thing t; return t.method(x); } // free
}
extern "C" void last(void);
int main(int c, char **) { c = outer::free_function(c); last(); return c; }
"""


def line_of(source: str, marker: str) -> int:
    """The line that bears the comment `marker`."""
    (found,) = [n for n, line in enumerate(source.split("\n"), 1) if line.endswith((f"/* {marker} */", f"// {marker}"))]
    return found


class Printed:
    """What a program said about itself."""

    def __init__(self, text: str) -> None:
        notes, self.maps = text.split("MAPS\n")
        self.address = {name: int(value, 16) for name, value in (line.split() for line in notes.splitlines())}


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def build(folder: Path, *flags: str, compiler: str = "gcc") -> Path:
    """The program and its library, both with `flags`, as folder/app and folder/libnote.so."""
    (folder / "note.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM)
    library = folder / "libnote.so"
    common = [compiler, *flags, *(["-Dnoipa=noinline"] if "clang" in compiler else [])]
    run(*common, "-shared", "-fPIC", "-o", library, folder / "note.c")
    run(*common, "-o", folder / "app", folder / "program.c", library, f"-Wl,-rpath,{folder}")
    return folder / "app"


def printed(app: Path) -> Printed:
    return Printed(run(app))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("plain"), "-g", "-O2")


# ---- lines and functions ----

FORMS = [
    ("gcc", "-g", "-O0"),
    ("gcc", "-g", "-O2"),
    ("gcc", "-g3", "-O3", "-fomit-frame-pointer"),
    *(("gcc", f"-gdwarf-{n}", "-O2") for n in (2, 3, 4, 5)),
    ("gcc", "-g", "-gz=zlib"),
    ("gcc", "-g", "-no-pie", "-O1"),
    ("gcc", "-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"),
    ("gcc", "-g", "-O2", "-gno-as-locview-support"),
    ("gcc", "-g", "-fuse-ld=gold"),
    ("gcc", "-g", "-Wl,-z,noseparate-code"),
    *(("clang-15", f"-gdwarf-{n}", "-O2") for n in (4, 5)),
    ("clang-15", "-gline-tables-only", "-O2"),
]


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_names_functions_and_lines(tmp_path: Path, form: tuple[str, ...]) -> None:
    compiler, *flags = form
    if shutil.which(compiler) is None or ("-fuse-ld=gold" in flags and shutil.which("ld.gold") is None):
        pytest.skip(f"{' '.join(form)}: not installed")
    app = build(tmp_path, *flags, compiler=compiler)
    said = printed(app)
    symbols = Symbols(said.maps)

    def at(function: str, marker: str) -> str:
        return f"{function} at program.c:{line_of(PROGRAM, marker)} (app)"

    assert symbols.describe(said.address["plain"]) == at("plain", "plain")
    inlined = (at("inner", "inlined"), at("outer", "outer"), at("plain", "host"))
    assert symbols.describe_all(said.address["inlined"]) == inlined
    assert symbols.describe(said.address["last"]) == at("last", "last")
    library = f"in_library at note.c:{line_of(LIBRARY, 'library')} (libnote.so)"
    assert symbols.describe(said.address["library"]) == library
    assert symbols.source(said.address["plain"]) == f"{tmp_path}/program.c:{line_of(PROGRAM, 'plain')}"
    assert symbols.source(said.address["inlined"]) == f"{tmp_path}/program.c:{line_of(PROGRAM, 'inlined')}"


def test_a_return_address_belongs_to_the_call_before_it(plain: Path) -> None:
    said = printed(plain)
    symbols = Symbols(said.maps)
    start = said.address["code"]
    first = symbols.locate(start)
    assert first is not None
    assert (first.function, first.into, first.object) == ("plain", 0, "app")
    assert symbols.describe(start, is_return_address=False).startswith("plain at program.c:")
    assert not symbols.describe(start).startswith("plain at")


def test_split_debug_information_still_gives_lines_and_symbols(tmp_path: Path) -> None:
    app = build(tmp_path, "-g", "-O2", "-gsplit-dwarf")
    said = printed(app)
    expected = f"plain at program.c:{line_of(PROGRAM, 'plain')} (app)"
    assert Symbols(said.maps).describe(said.address["plain"]) == expected


def test_without_debug_information_the_symbol_and_offset_are_given(tmp_path: Path) -> None:
    app = build(tmp_path, "-O2", "-g0")
    said = printed(app)
    symbols = Symbols(said.maps)
    into = said.address["plain"] - said.address["code"]
    assert symbols.describe(said.address["plain"]) == f"plain+{into:#x} (app)"
    assert symbols.source(said.address["plain"]) is None


def test_a_stripped_library_names_exported_functions_only(tmp_path: Path) -> None:
    build(tmp_path, "-g", "-O2")
    said = printed(tmp_path / "app")
    place = Symbols(said.maps).locate(said.address["plain"] - 1)
    assert place is not None
    run("strip", "--strip-all", tmp_path / "app", tmp_path / "libnote.so")
    said = printed(tmp_path / "app")
    symbols = Symbols(said.maps)
    assert symbols.describe(said.address["library"]).startswith("in_library+0x")
    assert symbols.describe(said.address["library"]).endswith(" (libnote.so)")
    # The program's own functions are not exported: no name is better than that of some other function.
    assert symbols.describe(said.address["plain"]) == f"app+{place.offset + 1:#x}"


def test_an_object_without_section_headers_still_gives_an_offset(tmp_path: Path) -> None:
    app = build(tmp_path, "-g", "-O2")
    said = printed(app)
    data = bytearray(app.read_bytes())
    place = Symbols(said.maps).locate(said.address["plain"])
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    app.write_bytes(data)
    assert place is not None
    assert Symbols(said.maps).locate(said.address["plain"]) == Place(str(app), place.offset)


# ---- separate debug files ----


def separate(folder: Path) -> Path:
    """Moves the debug information of folder/app into folder/app.debug, linked by name."""
    run("objcopy", "--only-keep-debug", folder / "app", folder / "app.debug")
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={folder / 'app.debug'}", folder / "app")
    return folder / "app.debug"


@pytest.mark.parametrize("where", ["beside", ".debug", "root", "build-id"])
def test_separate_debug_files_are_found(tmp_path: Path, where: str) -> None:
    root = tmp_path / "root"
    app = build(tmp_path, "-g", "-O2", "-Wl,--build-id")
    image = Image.open(str(app))
    assert image is not None
    name = {
        "beside": tmp_path / "app.debug",
        ".debug": tmp_path / ".debug/app.debug",
        "root": root / str(tmp_path).lstrip("/") / "app.debug",
        "build-id": root / ".build-id" / image.build_id[:2] / f"{image.build_id[2:]}.debug",
    }[where]
    debug = separate(tmp_path)
    name.parent.mkdir(parents=True, exist_ok=True)
    debug.rename(name)
    said = printed(app)
    expected = f"plain at program.c:{line_of(PROGRAM, 'plain')} (app)"
    assert Symbols(said.maps, root).describe(said.address["plain"]) == expected
    assert len(Symbols(said.maps, root).describe_all(said.address["inlined"])) == 3
    name.unlink()
    assert Symbols(said.maps, root).describe(said.address["plain"]).startswith("app+0x")


@pytest.mark.parametrize("build_id", ["-Wl,--build-id", "-Wl,--build-id=none"])
def test_the_debug_file_of_another_build_is_refused(tmp_path: Path, build_id: str) -> None:
    app = build(tmp_path, "-g", "-O2", build_id)
    debug = separate(tmp_path)
    said = printed(app)
    assert Symbols(said.maps).describe(said.address["plain"]).startswith("plain at ")
    other = tmp_path / "other"
    other.mkdir()
    (other / "app.debug").unlink(missing_ok=True)
    build(other, "-g", "-O0", build_id)
    shutil.copy(separate(other), debug)
    assert Symbols(said.maps).describe(said.address["plain"]).startswith("app+0x")


# ---- objects that are not there, or not what they were ----


def test_missing_replaced_and_foreign_objects_give_path_and_offset(tmp_path: Path) -> None:
    app = build(tmp_path, "-g", "-O2")
    said = printed(app)
    mapping = Symbols(said.maps).mapping(said.address["code"])
    assert mapping is not None
    offset = said.address["code"] - mapping.start + mapping.offset
    elf = b"\x7fELF\x02\x01"
    others = (b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(200))
    for content in (None, *others, elf, elf + b"\xff" * 500, elf + bytes(500)):
        app.unlink(missing_ok=True)
        if content is not None:
            app.write_bytes(content)
        assert Symbols(said.maps).locate(said.address["code"]) == Place(str(app), offset)
        assert Symbols(said.maps).describe(said.address["code"], False) == f"app+{offset:#x}"


def test_a_deleted_object_is_not_mistaken_for_the_file_that_took_its_place(plain: Path) -> None:
    said = printed(plain)
    maps = "\n".join(line + " (deleted)" if line.endswith("/app") else line for line in said.maps.splitlines())
    symbols = Symbols(maps)
    place = symbols.locate(said.address["plain"])
    assert place is not None
    assert (place.path, place.function, place.source) == (str(plain), "", "")
    assert symbols.kind(said.address["global"]) == f"file:{plain}"


def test_devices_and_pipes_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null"), Path("/dev/zero"), tmp_path):
        symbols = Symbols(f"1000-2000 r-xp 00003000 00:01 7 {path}\n")
        assert symbols.describe(0x1234) == f"{path.name}+0x3234"


def test_code_in_no_file_is_called_what_it_is() -> None:
    symbols = Symbols(
        "1000-2000 r-xp 00000000 00:00 0 \n3000-4000 r-xp 00000000 00:00 0                  [vdso]\n"
        "5000-6000 rw-p 00000000 00:00 0 \n"
    )
    assert symbols.describe(0x1500) == "0x1500 (generated code)"
    assert symbols.describe(0x3501) == "[vdso]+0x501"
    assert symbols.describe(0x5010) == "0x5010 (anonymous memory)"
    assert symbols.describe(0x48008) == "0x48008 (in no known mapping)"
    assert symbols.locate(0x48008) is None
    assert symbols.source(0x48008) is None


# ---- maps ----


def test_kinds_of_real_memory(plain: Path) -> None:
    said = printed(plain)
    symbols = Symbols(said.maps)
    kinds = {name: symbols.kind(said.address[name]) for name in ("stack", "heap", "large", "code", "global")}
    assert kinds == {"stack": "stack", "heap": "heap", "large": "anonymous", "code": "code", "global": f"file:{plain}"}
    assert symbols.kind(0) is None
    assert symbols.kind(0x48008) is None
    assert symbols.kind((1 << 64) + 5) is None
    assert symbols.kind(-1) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("rw-s 00000000 00:01 1234 /dev/zero (deleted)", "anonymous"),
        ("rw-s 00000000 00:01 1234 /memfd:pool (deleted)", "anonymous"),
        ("rw-s 00000000 00:01 1234 /SYSV00000000 (deleted)", "anonymous"),
        ("rw-s 00000000 00:06 1234 /dev/nvidia0", "file:/dev/nvidia0"),
        ("rw-p 00000000 08:01 1234 /home/a b/c  d.bin", "file:/home/a b/c  d.bin"),
        ("rw-p 00000000 08:01 1234 /home/evil\\012\x1b[2Jname", "file:/home/evil??[2Jname"),
        ("rw-p 00000000 08:01 1234 /gone/weights.gguf (deleted)", "file:/gone/weights.gguf"),
        ("---p 00000000 00:00 0 ", "reserved"),
        ("---p 00000000 00:06 1234 /dev/nvidia-uvm", "file:/dev/nvidia-uvm"),
        ("rw-p 00000000 00:00 0 [anon:scudo:primary]", "anonymous"),
        ("rwxp 00000000 00:00 0 [stack]", "stack"),
        ("rw-p 00000000 00:00 0 [stack:1234]", "stack"),
        ("rw-p 00000000 00:00 0 [heap]", "heap"),
        ("rwxp 00000000 00:00 0 ", "code"),
        ("r--p 00000000 00:00 0 [vvar]", "anonymous"),
        ("r-xp 00000000 00:00 0 [vdso]", "code"),
    ],
)
def test_kinds(line: str, kind: str) -> None:
    symbols = Symbols(f"7f0000001000-7f0000002000 {line}\n")
    assert symbols.kind(0x7F0000001000) == kind
    assert symbols.kind(0x7F0000001FFF) == kind
    assert symbols.kind(0x7F0000002000) is None
    assert symbols.kind(0x7F0000000FFF) is None


def test_damaged_maps_lose_only_the_damaged_lines(plain: Path) -> None:
    good = "1000-2000 rw-p 00000000 00:00 0 [heap]"
    bad = [
        "",
        "x",
        "2000-1000 rw-p 00000000 00:00 0",
        "zz-yy rw-p 0 00:00 0",
        "1000-2000 rw-p",
        "-",
        "\0" * 40,
        "11111111111111111-2 rw-p 00000000 00:00 0",
        "3000-4000 rwxq 00000000 00:00 0",
        "5000-6000 rw-p 0 00:00 0 \r\r",
    ]
    symbols = Symbols("\n".join([*bad, good, *bad]))
    assert symbols.kind(0x1800) == "heap"
    assert symbols.kind(0x3800) is None
    said = printed(plain)
    whole = parse_maps(said.maps)
    for cut in range(0, len(said.maps), 97):
        found = parse_maps(said.maps[:cut])
        # Of a cut text every line but the last is exactly what it was.
        assert found[:-1] == whole[: max(len(found) - 1, 0)]


# ---- C++ ----


def test_cplusplus_names(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    build(tmp_path, "-g", "-O1")
    (tmp_path / "program.cc").write_text(CPLUSPLUS)
    last = PROGRAM.split("int main")[0]
    (tmp_path / "last.c").write_text(last)
    run("gcc", "-g", "-O1", "-c", "-o", tmp_path / "last.o", tmp_path / "last.c")
    objects = [tmp_path / "program.cc", tmp_path / "last.o", tmp_path / "libnote.so"]
    run("g++", "-g", "-O1", "-o", tmp_path / "cpp", *objects, f"-Wl,-rpath,{tmp_path}")
    said = printed(tmp_path / "cpp")
    symbols = Symbols(said.maps)
    constructor, free = symbols.describe_all(said.address["constructor"])
    assert constructor.endswith(f" at program.cc:{line_of(CPLUSPLUS, 'constructor')} (cpp)")
    assert "Thing" in constructor
    assert free == f"outer::free_function at program.cc:{line_of(CPLUSPLUS, 'free')} (cpp)"
    method = symbols.describe(said.address["method"])
    assert method == f"outer::(anonymous namespace)::Thing::method at program.cc:{line_of(CPLUSPLUS, 'method')} (cpp)"


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN5outer5inner4workEi", "outer::inner::work"),
        ("_Z4workv", "work"),
        ("_ZL4workv", "work"),
        ("_ZN5outer5ThingC2Ev", "outer::Thing::Thing"),
        ("_ZN5outer5ThingD1Ev", "outer::Thing::~Thing"),
        ("_ZN5outer5ThingD4Ev", "outer::Thing::~Thing"),
        ("_ZNK5outer5Thing3getEv", "outer::Thing::get"),
        ("_ZNSt6thread4joinEv", "std::thread::join"),
        ("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work"),
        ("_ZN1a1bEv.isra.0", "a::b"),
        ("_ZN1aIiE1bEv", "a<int>::b"),
        ("_Z1fIiEvT_", "f<int>"),
        ("_ZNK1aeqERKS_", "a::operator=="),
        ("main", "main"),
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_ZN9aE", "_ZN9aE"),
        ("_ZN99999999999aE", "_ZN99999999999aE"),
        ("", ""),
        ("_ZN1a", "_ZN1a"),
        ("_ZTV5Thing", "_ZTV5Thing"),
        ("_ZNE", "_ZNE"),
        ("_ZNC1Ev", "_ZNC1Ev"),
    ],
)
def test_pretty(mangled: str, name: str) -> None:
    assert pretty(mangled) == name


# ---- garbage ----


@pytest.mark.parametrize("seed", range(4))
def test_damaged_objects_never_raise(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    app = build(tmp_path, "-g", "-O2", *(["-gdwarf-4"] if seed % 2 else []))
    said = printed(app)
    whole = app.read_bytes()
    image = Image.open(str(app))
    assert image is not None
    starts = [int(s["offset"]) for s in image.sections.values()] + [0]
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 5, 200))):
            at = min(chance.choice(starts) + chance.randrange(600), len(data) - 1)
            data[at] = chance.choice((0, 0xFF, 0x80, 0x7F, chance.randrange(256)))
        app.unlink()
        app.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        symbols = Symbols(said.maps)
        for address in (said.address["plain"], said.address["inlined"], said.address["last"]):
            assert all(symbols.describe_all(address))
            assert symbols.describe(address).isprintable()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_maps_never_raise(plain: Path, seed: int) -> None:
    chance = random.Random(seed)
    said = printed(plain)
    for _ in range(100):
        text = list(said.maps)
        for _ in range(50):
            text[chance.randrange(len(text))] = chance.choice("0f-x \n/[\0\x1b\ud800é9")
        symbols = Symbols("".join(text))
        for address in said.address.values():
            assert symbols.describe(address)
            symbols.kind(address)


def test_abbreviations_are_those_of_pyelftools(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    with (tmp_path / "a.o").open("rb") as file:
        info = ELFFile(file).get_dwarf_info()
        stream = info.debug_abbrev_sec.stream
        whole = AbbrevTable(info.structs, stream, 0)
        lean = Abbreviations(stream.getvalue(), 0, info.structs)
        for code, wanted in whole._abbrev_map.items():
            found = lean.get_abbrev(code)
            assert (found.code, found.decl, found.has_children()) == (code, wanted.decl, wanted.has_children())
        with pytest.raises(KeyError):
            lean.get_abbrev(10_000)
