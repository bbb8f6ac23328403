"""Reports of all tools, old and new, loud and silent; the texts are ours, in the forms that the tool prints."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudx.errors import UserError
from gpudx.evidence import compute_sanitizer
from gpudx.evidence._sanitizer_records import HostFrame, Location, host_frame, location
from gpudx.evidence.compute_sanitizer import parse, read, records, to_findings

BANNER = "========= COMPUTE-SANITIZER\n"
CLEAN = BANNER + "my program says hello\n========= ERROR SUMMARY: 0 errors\n"


def marked(*lines: str) -> str:
    return "".join(f"========= {line}\n" for line in lines)


def invalid(thread: int = 0, address: int = 0x7F0000000400, verb: str = "write", block: int = 0) -> str:
    return marked(
        f"Invalid __global__ {verb} of size 4 bytes",
        "    at scale(float *, int)+0x90 in scale.cu:12",
        f"    by thread ({thread},0,0) in block ({block},0,0)",
        f"    Access to {address:#x} is out of bounds",
        f"    and is {address - 0x7F0000000400 + 1:,} bytes after the nearest allocation at 0x7f0000000000 of size 1,024 bytes",
        "    Saved host backtrace up to driver entry point at kernel launch time",
        "        Host Frame: run(int) [0x1234] in app",
        "        Host Frame: main [0x5678] in app",
        "",
    )


def one(text: str) -> compute_sanitizer.Fault:
    report = parse(text)
    assert len(report.faults) == 1, report
    return report.faults[0]


# -- silent


def test_clean_is_what_the_tool_says() -> None:
    report = parse(CLEAN)
    assert (report.status, report.errors, report.faults, report.problems) == ("clean", 0, (), ())
    assert to_findings(report) == ()
    race = parse(BANNER + marked("RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"))
    assert race.status == "clean" and race.tool == "racecheck"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no GPU here\n",
        BANNER,
        BANNER + "my program ran\n",
        BANNER
        + marked(
            "Error: Target application terminated before first instrumented API call",
            "Tracking kernels launched by child processes requires the --target-processes all option.",
        ),
        BANNER
        + marked("Error: Target application terminated before first instrumented API call", "ERROR SUMMARY: 0 errors"),
        marked("Unable to find injection library libsanitizer-collection.so"),
        marked("Error: No attachable process found. compute-sanitizer timed-out."),
    ],
)
def test_a_silent_tool_did_not_run(text: str) -> None:
    report = parse(text)
    assert report.status == "did not run"
    (finding,) = to_findings(report)
    assert finding.id == "sanitizer-did-not-run" and finding.severity == "warning"


def test_cut_off_and_incomplete() -> None:
    cut = parse(BANNER + invalid())
    assert cut.status == "cut off" and [f.id for f in to_findings(cut)] == [
        "sanitizer-cut-off",
        "sanitizer-invalid-write",
    ]
    blind = parse(
        BANNER
        + marked(
            "Internal Sanitizer Error: could not track the launch. Errors might go undetected.",
            "ERROR SUMMARY: 0 errors",
        )
    )
    assert blind.status == "incomplete" and [f.id for f in to_findings(blind)] == ["sanitizer-incomplete"]


def test_counted_and_not_printed() -> None:
    report = parse(
        BANNER + marked("ERROR SUMMARY: 7 errors", "ERROR SUMMARY: 7 errors were not printed. Use --print-limit")
    )
    (finding,) = to_findings(report, raw="tools/memcheck.txt")
    assert report.status == "errors" and finding.severity == "error" and "7 errors" in finding.message
    assert finding.evidence[0].raw == "tools/memcheck.txt"


def test_a_program_that_fails_by_itself_is_noted() -> None:
    report = parse(
        BANNER
        + marked(
            "Error: process didn't terminate successfully",
            "Target application returned an error",
            "ERROR SUMMARY: 0 errors",
        )
    )
    assert report.status == "clean"


# -- memcheck


def test_out_of_bounds_in_full() -> None:
    report = parse(BANNER + invalid() + marked("ERROR SUMMARY: 1 error"))
    assert (report.status, report.tool, report.errors, report.records) == ("errors", "memcheck", 1, 1)
    (fault,) = report.faults
    first = fault.first
    assert (fault.kind, first.size, first.space, first.reason) == ("invalid-write", 4, "global", "out of bounds")
    assert first.where == Location("scale(float *, int)", 0x90, "scale.cu:12")
    assert (first.block, first.thread, first.address) == ((0, 0, 0), (0, 0, 0), 0x7F0000000400)
    assert first.nearest is not None and str(first.nearest).startswith(
        "1 byte after the nearest allocation at 0x7f0000000000"
    )
    assert first.past_end == 0  # the tool counts from 1
    assert first.host == (HostFrame("run(int)", "app", 0x1234), HostFrame("main", "app", 0x5678))
    assert first.host_at == "kernel launch time" and fault.doubt is None and not fault.follows
    (finding,) = to_findings(report)
    assert finding.id == "sanitizer-invalid-write" and finding.severity == "error"
    assert (
        finding.message
        == "scale writes 4 bytes of global memory right past the end of an allocation of 1,024 bytes at scale.cu:12."
    )


def test_thousands_become_one_fault_per_site() -> None:
    text = BANNER + "".join(invalid(n % 256, 0x7F0000000400 + 4 * n, block=n // 256) for n in range(2000))
    text += invalid(verb="read") + marked(
        "ERROR SUMMARY: 5000 errors", "ERROR SUMMARY: 2999 errors were not printed. Use --print-limit option"
    )
    report = parse(text)
    assert (report.errors, report.not_printed, report.records) == (5000, 2999, 2001)
    writes, reads = report.faults
    assert (writes.count, reads.count) == (2000, 1)
    assert str(writes.addresses) == "0x7f0000000400 to 0x7f000000233c" and str(writes.blocks) == "(0,0,0) to (7,0,0)"
    assert str(writes.threads) == "(0,0,0) to (255,0,0)"
    assert [f.count for f in to_findings(report)] == [2000, 1]


def test_fingerprints_do_not_move_with_addresses() -> None:
    a, b = (
        to_findings(parse(BANNER + invalid(t, x) + marked("ERROR SUMMARY: 1 error")))[0]
        for t, x in ((0, 0x7F0000000400), (9, 0x7F0000000500))
    )
    assert a.fingerprint == b.fingerprint


def test_misaligned_is_no_false_alarm_although_inside() -> None:
    fault = one(
        BANNER
        + marked(
            "Invalid __global__ write of size 16 bytes",
            "    at four(char *)+0x70 in four.cu:7",
            "    by thread (0,0,0) in block (0,0,0)",
            "    Access to 0x7f0000001004 is misaligned",
            "    and is inside the nearest allocation at 0x7f0000001000 of size 4,096 bytes",
            "",
        )
    )
    assert fault.kind == "misaligned-access" and fault.doubt is None


def inside(size: int, address: int) -> compute_sanitizer.Fault:
    return one(
        BANNER
        + marked(
            f"Invalid __global__ write of size {size} bytes",
            "    at bulk(char *)+0x20",
            "    by thread (0,0,0) in block (0,0,0)",
            f"    Access to {address:#x} is out of bounds",
            "    and is inside the nearest allocation at 0x1000 of size 4096 bytes",
        )
    )


def test_known_false_alarms_are_labelled() -> None:
    wholly, across = inside(16, 0x1100), inside(256, 0x1F80)
    assert wholly.doubt is not None and "wholly inside" in wholly.doubt
    assert across.doubt is not None and "adjoins" in across.doubt
    report = parse(
        BANNER
        + marked(
            'Program hit CUDA_ERROR_NOT_FOUND (error 500) due to "named symbol not found" on CUDA API call to cuGetProcAddress_v2.',
            "",
            "ERROR SUMMARY: 1 error",
        )
    )
    (finding,) = to_findings(report)
    assert finding.severity == "warning" and any("query something" in one.text for one in finding.evidence)


def test_api_errors_and_their_followers() -> None:
    hit = 'Program hit {} (error {}) due to "some text" on CUDA API call to {}.'
    launch = (hit.format("cudaErrorInvalidValue", 1, "cudaLaunchKernel"), "        Host Frame: main [0x1] in app", "")
    again = (hit.format("cudaErrorInvalidValue", 1, "cudaGetLastError"), "")
    refused = parse(BANNER + marked(*launch, *again, "ERROR SUMMARY: 2 errors"))
    assert [(f.first.api, f.first.error, f.first.code, f.follows) for f in refused.faults] == [
        ("cudaLaunchKernel", "cudaErrorInvalidValue", 1, False),
        ("cudaGetLastError", "cudaErrorInvalidValue", 1, True),
    ]
    sticky = parse(
        BANNER
        + invalid()
        + marked(hit.format("cudaErrorLaunchFailure", 719, "cudaMemcpy"), "", "ERROR SUMMARY: 2 errors")
    )
    assert [(f.kind, f.follows) for f in sticky.faults] == [("invalid-write", False), ("api-error", True)]
    assert [f.severity for f in to_findings(sticky)] == ["error", "info"]
    alone = one(BANNER + marked(hit.format("cudaErrorLaunchFailure", 719, "cudaMemcpy")))
    assert not alone.follows


@pytest.mark.parametrize(
    ("line", "api", "code"),
    [
        ("Program hit error 2 on CUDA API call to cudaMalloc", "cudaMalloc", 2),
        ("Program hit invalid copy direction for memcpy (error 21) on CUDA API call to cudaMemcpy.", "cudaMemcpy", 21),
        (
            'Program hit cudaErrorNoDevice (error 100) due to "no CUDA-capable device is detected" on CUDA API call to cudaMalloc.',
            "cudaMalloc",
            100,
        ),
    ],
)
def test_api_error_forms(line: str, api: str, code: int) -> None:
    fault = one(marked(line))
    assert (fault.kind, fault.first.api, fault.first.code) == ("api-error", api, code)


def test_leaks_are_one_fault_per_place() -> None:
    def leak(address: int, offset: int) -> str:
        return marked(
            f"Leaked 4,096 bytes at {address:#x}",
            "    Saved host backtrace up to driver entry point at allocation time",
            "        Host Frame: cudaMalloc [0x10] in app",
            f"        Host Frame: main [{offset:#x}] in app",
            "",
        )

    report = parse(
        BANNER
        + leak(0x1000, 0x30)
        + leak(0x2000, 0x30)
        + leak(0x3000, 0x40)
        + marked("LEAK SUMMARY: 12288 bytes leaked in 3 allocations", "ERROR SUMMARY: 3 errors")
    )
    assert report.leaked == 12288 and [(f.kind, f.count, f.bytes) for f in report.faults] == [
        ("leak", 2, 8192),
        ("leak", 1, 4096),
    ]
    assert to_findings(report)[0].message == "8,192 bytes in 2 allocations were never released."


# -- the other tools


def test_race_analysis() -> None:
    fault = one(
        BANNER
        + marked(
            "Error: Race reported between Write access at sum(int *)+0x90 in sum.cu:3",
            "    and Read access at sum(int *)+0xa0 in sum.cu:4 [1,024 hazards]",
            "",
            "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
        )
    )
    assert (fault.kind, fault.hazards, fault.first.severity) == ("race", 1024, "error")
    assert fault.first.where.source == "sum.cu:3" and fault.first.other == Location("sum(int *)", 0xA0, "sum.cu:4")


def test_race_hazards_of_the_old_tool() -> None:
    hazard = [
        "WARN:(Warp Level Programming) Potential RAW hazard detected at __shared__ {} in block (2, 0, 0) :",
        "    Write Thread (17, 0, 0) at 0x00000250 in ./total.cu:9:total(float*, int)",
        "    Read Thread (4, 0, 0) at 0x00000260 in ./total.cu:11:total(float*, int)",
        "    Current Value : 0",
        "    Host Frame:/opt/libcuda.so.1 (cuLaunchKernel + 0x11) [0xabc]",
        "    Host Frame:./total [0xdef]",
        "",
    ]
    lines = [line.format(hex(n)) for n in range(4) for line in hazard]
    report = parse(marked("CUDA-MEMCHECK", *lines, "RACECHECK SUMMARY: 4 hazards displayed (0 errors, 4 warnings)"))
    (fault,) = report.faults
    assert fault.count == 4 and fault.first.severity == "warning" and fault.first.reason == "RAW"
    assert fault.first.where == Location("total(float*, int)", 0x250, "./total.cu:9") and fault.first.thread == (
        17,
        0,
        0,
    )
    assert fault.first.host == (
        HostFrame("cuLaunchKernel", "/opt/libcuda.so.1", 0xABC),
        HostFrame(None, "./total", 0xDEF),
    )
    assert str(fault.addresses) == "0x0 to 0x3" and report.errors == 4


AT, BY = "    at k(int)+0x70 in k.cu:5", "    by thread (0,0,0) in block (0,0,0)"
DEADLOCK = (
    "Deadlock detected in Cuda::barrier wait called by threads starting at (64,0,0) in block (5,0,0),"
    " (active mask: 0x0000ffff), barrier address: 0x40 at k+0x220 in k.cu:31"
)


@pytest.mark.parametrize(
    ("kind", "tool", "lines"),
    [
        (
            "uninitialised-read",
            "initcheck",
            ["Uninitialized __global__ memory read of size 4 bytes", AT, BY, "    Address 0x7f10"],
        ),
        (
            "uninitialised-copy",
            "initcheck",
            [
                "Host API memory access error at host access to 0x7f10 of size 3,840 bytes",
                "    Uninitialized access to 0x7f20 on access by cudaMemcpy source",
            ],
        ),
        (
            "unused-memory",
            "initcheck",
            [
                "Unused __global__ memory in allocation 0x7f00 of size 640 bytes",
                "    Not written 512 bytes at offset 0x80",
            ],
        ),
        (
            "unused-memory",
            "initcheck",
            ["Unused memory in allocation 0x7f00 of size 16 bytes", "    Not written any memory."],
        ),
        ("barrier", "synccheck", ["Barrier error detected. Divergent thread(s) in warp.", AT, BY]),
        ("barrier", "synccheck", ["Warpgroup MMA sequence error detected. Something", AT]),
        (
            "cluster-race",
            "racecheck",
            [
                "Potential invalid __shared__ read of size 4 bytes",
                AT,
                BY,
                "    Address 0x2000800 is located in a block that might have already exited",
            ],
        ),
        ("deadlock", None, [DEADLOCK]),
        (
            "device-heap",
            "memcheck",
            ["Malloc/Free error encountered : Double free", "    at 0x1230", BY, "    Address 0x500000020"],
        ),
        (
            "unified-memory-fault",
            None,
            [
                "Fatal UVM GPU fault of type invalid pde due to invalid address",
                "    during write access to address 0x300000000",
            ],
        ),
        ("trap", None, ["Trace/breakpoint trap", AT, BY]),
        (
            "hardware-exception",
            None,
            ["Out-of-range shared or local address", "    at 0x330 in /x/y.h:70:ns::f(unsigned int)", BY],
        ),
        ("hardware-exception", None, ["Some exception that a later release reports.", AT, BY]),
        ("leak", "memcheck", ["Leaked 24 bytes at 0x500000010 on the device heap"]),
    ],
)
def test_every_kind(kind: str, tool: str | None, lines: list[str]) -> None:
    report = parse(BANNER + marked(*lines, "", "ERROR SUMMARY: 1 error"))
    assert [f.kind for f in report.faults] == [kind] and report.tool == tool and report.status == "errors"
    assert to_findings(report)[0].id == f"sanitizer-{kind}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(int)+0x70 in a.cu:7", Location("f(int)", 0x70, "a.cu:7")),
        ("void g<(T)12, (int)2>(const void *)+0x540", Location("void g<(T)12, (int)2>(const void *)", 0x540)),
        ("h():0x160 in demo.cu:6", Location("h()", 0x160, "demo.cu:6")),
        ("copy in bulk.h:23", Location("copy", None, "bulk.h:23")),
        (
            "0x150 in void ns::k<int=256>(unsigned int const *,int)",
            Location("void ns::k<int=256>(unsigned int const *,int)", 0x150),
        ),
        (
            "0x440 in /a/b.py:21:__main__::k[abi:v1](Array<float, 1>)",
            Location("__main__::k[abi:v1](Array<float, 1>)", 0x440, "/a/b.py:21"),
        ),
        ("0x10 in C:/a/b.cu:3:f(int)", Location("f(int)", 0x10, "C:/a/b.cu:3")),
        ("0x79d8", Location(None, 0x79D8)),
        ("scan+0x860", Location("scan", 0x860)),
        ("", Location()),
    ],
)
def test_locations(text: str, expected: Location) -> None:
    assert location(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" main [0x8da9] in app", HostFrame("main", "app", 0x8DA9)),
        ("  [0x2f] in libcuda.so.1", HostFrame(None, "libcuda.so.1", 0x2F)),
        ("suite::run() in src/suite.cpp:32 [0x7a]", HostFrame("suite::run()", None, 0x7A, "src/suite.cpp:32")),
        ("/lib/libcuda.so (cuLaunchKernel + 0x2cd) [0x24]", HostFrame("cuLaunchKernel", "/lib/libcuda.so", 0x24)),
        ("./app [0x101d9]", HostFrame(None, "./app", 0x101D9)),
        ("odd", HostFrame("odd")),
    ],
)
def test_host_frames(text: str, expected: HostFrame) -> None:
    assert host_frame(text) == expected


def test_module_on_its_own_line() -> None:
    fault = one(marked("Leaked 1 bytes at 0x10", "    Host Frame:f in a.cpp:3 [0x1]", "               in /lib/x.so"))
    assert fault.first.host == (HostFrame("f", "/lib/x.so", 1, "a.cpp:3"),)


# -- what logs do to reports


def test_prefixes_colours_interleaved_output_and_windows_ends() -> None:
    messy = "".join(
        f"2024-05-01T10:00:00Z [rank1] \x1b[31m{line}\x1b[0m\r\n"
        for line in (BANNER + invalid() + marked("ERROR SUMMARY: 1 error")).splitlines()
    )
    fault = one(messy)
    assert fault.first.where.source == "scale.cu:12" and fault.first.host[0].function == "run(int)"
    glued = one((BANNER + invalid()).replace("=========         Host", "719=========         Host"))
    assert len(glued.first.host) == 2


def test_missing_first_line() -> None:
    fault = one("Some error\n" + marked("    at k(int)+0x10 in k.cu:1", "    by thread (0,0,0) in block (0,1,0)"))
    assert fault.kind == "hardware-exception" and "missing" in fault.first.text and fault.first.block == (0, 1, 0)


def test_records_are_a_stream() -> None:
    stream = records(BANNER + invalid(1) + invalid(2))
    assert [r.thread for r in stream] == [(1, 0, 0), (2, 0, 0)]


# -- XML


def xml(*names: str, end: str = "</ComputeSanitizerOutput>", kind: str = "Error") -> str:
    body = "".join(
        f"<record><kind>Precise</kind><level>{kind}</level>"
        f"<who><threadIdx><x>{n}</x><y>0</y><z>0</z></threadIdx><blockIdx><x>7</x><y>0</y><z>0</z></blockIdx></who>"
        "<what><text>Invalid __global__ read of size 4 bytes is out of bounds</text><space>__global__</space><size>4</size>"
        f"<direction>read</direction><error>out of bounds</error><address>{0x100 + 4 * n:#x}</address></what>"
        f"<where><func>{name}</func><path>/s/k.cu</path><line>8</line><pc>0xd60</pc></where>"
        "<hostStack><saveLocation>kernel launch time</saveLocation><frame><func>main</func><pc>0x8</pc><module>app</module></frame>"
        "<frame><pc>0x9</pc><module>libc.so</module></frame></hostStack></record>"
        for n, name in enumerate(names)
    )
    return f'<?xml version="1.0" encoding="utf-8"?>\n<ComputeSanitizerOutput>{body}{end}'


def test_xml() -> None:
    report = parse(xml("rope", "rope", "other"))
    assert report.status == "errors" and [(f.kind, f.count) for f in report.faults] == [
        ("invalid-read", 2),
        ("invalid-read", 1),
    ]
    first = report.faults[0].first
    assert first.where == Location("rope", 0xD60, "/s/k.cu:8") and first.block == (7, 0, 0) and first.size == 4
    assert (
        first.host == (HostFrame("main", "app", 8), HostFrame(None, "libc.so", 9))
        and first.host_at == "kernel launch time"
    )
    assert parse(xml()).status == "clean" and parse(xml("k", kind="Warning")).faults[0].first.severity == "warning"


def test_xml_of_a_failed_call() -> None:
    """Elements as NVIDIA's documentation has them ("Suppressions"): the reason stands without quotes in the text."""
    text = "Program hit cudaErrorInvalidValue (error 1) due to invalid argument on CUDA API call to cudaMemcpy."
    what = (
        "<api>cudaMemcpy</api><error>cudaErrorInvalidValue</error><message>invalid argument</message><result>1</result>"
    )
    body = f"<record><kind>Api</kind><what><text>{text}</text>{what}</what><hostStack></hostStack></record>"
    first = parse(f"<ComputeSanitizerOutput>{body}</ComputeSanitizerOutput>").faults[0].first
    assert (first.kind, first.api, first.error, first.code) == ("api-error", "cudaMemcpy", "cudaErrorInvalidValue", 1)
    assert first.reason == "invalid argument"


def test_xml_of_a_kind_that_is_not_known() -> None:
    body = "<record><kind>Tcgen05Guardrail</kind><level>Error</level><what><text>Something new went wrong</text></what></record>"
    fault = parse(f"<ComputeSanitizerOutput>{body}</ComputeSanitizerOutput>").faults[0]
    assert fault.first.text == "Something new went wrong"


def test_broken_and_hostile_xml() -> None:
    cut = parse(xml("rope", end=""))
    assert cut.status == "cut off" and len(cut.faults) == 1 and "XML is broken" in cut.problems[0]
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><ComputeSanitizerOutput>&c;</ComputeSanitizerOutput>'
    assert parse(bomb).status == "did not run"
    assert parse("<ComputeSanitizerOutput>" + "<a>" * 5000).status == "did not run"


# -- damage, speed


def test_mutated_reports_raise_nothing() -> None:
    sources = [(BANNER + invalid() + marked("ERROR SUMMARY: 1 error")).encode(), xml("rope", "k").encode()]
    chance = random.Random(11)
    for _ in range(4000):
        bad = bytearray(chance.choice(sources))
        for _ in range(chance.choice((1, 5, 30))):
            at = chance.randrange(len(bad))
            bad[at : at + chance.choice((0, 1, 1, 9))] = bytes(
                chance.choices(b"=()0x<>&9,:+[]in \n\xff\x00", k=chance.choice((0, 1, 1, 12)))
            )
        to_findings(parse(bytes(bad)))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path / "missing")
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path)


def test_large_reports_are_fast_and_endless_lines_harmless(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    chunk = "".join(invalid(n % 256, 0x7F0000000400 + 4 * n, block=n // 256) for n in range(2000))
    with path.open("w") as file:
        file.write(BANNER)
        for _ in range(10_000_000 // len(chunk)):
            file.write(chunk)
        file.write("=" * 3_000_000 + "\n" + "========= ERROR SUMMARY: 1 error\n")
    begin = time.process_time()
    report = read(path)
    used = time.process_time() - begin
    assert report.status == "errors" and len(report.faults) == 1
    assert used < 3, f"{used:.1f} s for {path.stat().st_size:,} bytes"  # 10 s for 100 MB would be 1 s


# -- real reports


@pytest.mark.parametrize(
    ("name", "kind", "where", "errors"),
    [
        ("cs-memcheck-rope-null.txt", "invalid-read", "rope.cu:8", 32769),
        ("cs-memcheck-misal.txt", "misaligned-access", "cs.cu:7", 2),
        ("cs-memcheck-shoob.txt", "invalid-write", "cs.cu:6", 253),
        ("cs-memcheck-trap.txt", "trap", "cs.cu:8", 33),
        ("cs-initcheck-uninit.txt", "uninitialised-read", "cs.cu:4", 1024),
        ("cs-synccheck-diverge.txt", "barrier", "cs.cu:5", 4),
        ("cs-racecheck-race.txt", "race", "cs.cu:3", 1),
        ("cs-memcheck-badgrid.txt", "api-error", None, 2),
        ("cs-leak.txt", "leak", None, 3),
    ],
)
def test_real_reports(sample: Callable[[str], Path], name: str, kind: str, where: str | None, errors: int) -> None:
    report = read(sample(name))
    assert report.status == "errors" and report.errors == errors
    assert (report.faults[0].kind, report.faults[0].first.where.source) == (kind, where)
    assert all(fault.follows or fault.kind in ("leak", kind) for fault in report.faults)


def test_real_xml(sample: Callable[[str], Path]) -> None:
    report = read(sample("cs.xml"))
    assert report.status == "errors" and report.records == 100 and len(report.faults) == 1
    host = [frame.function for frame in report.faults[0].first.host]
    assert host[0] == "cuLaunchKernel" and host[-1] == "_start" and host.index("main") < len(host) - 1
