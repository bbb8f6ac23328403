"""Several logs, or several tools in one log, as one story. All lines are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dump_kit import CODE, EXIT, Block, Dump, Lane, Sm, Warp, code, image, ldg, mov, with_address
from support.typed import written

from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence.logs._fold import read_log
from gpudx.evidence.logs._stamps import stamp
from gpudx.evidence.logs._whole import read_whole
from gpudx.model import Finding

XID = "NVRM: Xid (PCI:0000:02:00): 31, pid=400, name=trainer, Ch 1, intr 0. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f01_00000000.\n"
REPORT = "CUDA error: an illegal memory access was encountered at step.cu:4\n"
SANITIZER = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scatter(float *, int)+0x90 in scatter.cu:12
=========     by thread (31,0,0) in block (2,0,0)
=========     Address 0x7f0000000404 is out of bounds
=========
========= ERROR SUMMARY: 1 error
"""
BUILD = "nvcc -c a.cu\nwarning: crt/mma.hpp(91): Warning: cannot perform wmma load or store on local memory\n"


def joined(**logs: str) -> Explained:
    return explain([read_log(f"{name}.log", [text.encode()]) for name, text in logs.items()])


def errors(told: Explained) -> list[Finding]:
    return [one for one in told.findings if one.severity == "error"]


def test_one_fault_told_by_three_tools_is_one_finding() -> None:
    told = joined(app=REPORT + "Aborted (core dumped)\n", dmesg="[12.5] " + XID, check=SANITIZER)
    (error,) = errors(told)
    assert error.message.startswith("scatter writes 4 bytes of global memory")
    (entry,) = told.diagnosis
    assert (entry.cause, entry.status) == ("out-of-bounds-access", "likely")
    assert any("also reported by xid: line 1 of dmesg.log" in fact.text for fact in entry.evidence)
    assert any("this follows line 2 of check.log" in fact.text for fact in entry.not_counted)
    xid = next(one for one in told.findings if one.id == "log-xid-31")
    assert xid.severity == "info" and xid.message.endswith("; this is probably the same fault as line 2 of check.log.")


def test_the_record_of_another_tool_is_named_right_behind_the_line() -> None:
    (other,) = joined(dmesg="[12.5] " + XID, check=SANITIZER).diagnosis
    assert other.evidence[1].text == "also reported by xid: line 1 of dmesg.log"
    (same,) = joined(dmesg="[12.5] " + XID.replace("0x7f01_00000000", "0x7f00_00000404"), check=SANITIZER).diagnosis
    assert same.evidence[1].text == "also reported by xid (same address 0x7f0000000404): line 1 of dmesg.log"


def test_the_order_of_the_files_does_not_matter() -> None:
    first = joined(app=REPORT, dmesg="[12.5] " + XID, check=SANITIZER)
    last = joined(check=SANITIZER, dmesg="[12.5] " + XID, app=REPORT)
    assert [one.fingerprint for one in errors(first)] == [one.fingerprint for one in errors(last)]


def test_the_next_step_has_the_command_of_the_log_beside_it() -> None:
    told = joined(app="$ ./solve --size 8\n" + REPORT, dmesg="[12.5] " + XID)
    (entry,) = told.diagnosis
    assert "-- ./solve --size 8" in entry.fix[0]


def test_several_formats_in_one_file() -> None:
    (error,) = errors(joined(all=REPORT + "[12.5] " + XID + SANITIZER))
    assert written(error).format == "compute-sanitizer"


def test_kernels_that_differ_are_two_faults() -> None:
    debugger = "CUDA Exception: Warp Illegal Address\n0x0 in gather(float*)<<<(8,1,1),(64,1,1)>>> ()\n"
    assert len(errors(joined(a=SANITIZER, b=debugger))) == 2


def test_kinds_that_differ_are_two_faults() -> None:
    assert (
        len(errors(joined(a=SANITIZER, b="/k.cu:9: f: block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.\n")))
        == 2
    )


def test_logs_that_are_hours_apart_are_two_stories() -> None:
    told = joined(dmesg="2026-01-02T03:00:00Z " + XID, app="2026-01-02T09:00:00Z " + REPORT)
    assert len(errors(told)) == 2 and len(told.diagnosis) == 2
    near = joined(dmesg="2026-01-02T03:00:01Z " + XID, app="2026-01-02T03:00:02Z " + REPORT)
    assert len(errors(near)) == 1
    assert any(
        fact.text == "by time stamp, its first line is line 1 of dmesg.log"
        for fact in near.diagnosis[0].evidence
    )


def test_time_stamps_order_what_the_files_do_not() -> None:
    """The refusal of b.log was before the fault of a.log, so that it does not follow it."""
    told = joined(
        a=f"2026-01-02T03:00:05Z {REPORT}",
        b="2026-01-02T03:00:01Z CUDA error: invalid configuration argument at b.cu:2\n",
    )
    assert told.diagnosis[0].cause == "launch-refused"
    assert [one.severity for one in told.findings] == ["error", "error"]


def test_a_process_that_ended_is_not_joined_with_the_next() -> None:
    told = joined(all=REPORT + "Aborted (core dumped)\n" + "[12.5] " + XID)
    assert [one.severity for one in told.findings] == ["error", "info", "error"]


def test_what_was_built_wrong_explains_the_launch_that_fails() -> None:
    told = joined(app="CUDA error: unspecified launch failure at a.cu:7\n", build=BUILD)
    (error,) = errors(told)
    assert error.id == "log-tile-in-local-memory"
    assert told.diagnosis[0].cause == "device-trap" and len(told.diagnosis[0].not_counted) == 1


def test_what_was_built_wrong_does_not_explain_an_assertion() -> None:
    assert len(errors(joined(build=BUILD, app="CUDA error: device-side assert triggered at a.cu:7\n"))) == 2


def test_a_core_dump_of_the_device_is_one_of_the_files(tmp_path: Path) -> None:
    illegal, at = 14, CODE + 16
    text = code(mov(1), ldg(8, 2, 0x10, board=0), EXIT)
    lane = Lane(with_address(2, 0x80), thread=(32, 0, 0), pc=at, exception=illegal)
    made = Dump(image(text, "scatter"), [Sm([Block([Warp([lane], at)], (3, 0, 0))], illegal, at)])
    dump = read_whole(made.write(tmp_path / "core.nvcudmp"))
    assert dump is not None
    told = explain([read_log("app.log", [REPORT.encode()]), dump])
    (error,) = errors(told)
    assert error.message.startswith("Kernel scatter failed") and error.evidence[0].text.startswith("core.nvcudmp: ")
    assert told.findings[-1].message.endswith("; this follows core.nvcudmp.")


def test_xml_of_the_sanitizer(tmp_path: Path) -> None:
    path = tmp_path / "check.xml"
    path.write_text(
        "<ComputeSanitizerOutput><record><kind>Invalid</kind><level>Error</level><what><text>Invalid __global__ read of size 4 bytes</text>"
        "<size>4</size></what><where><func>gather</func><path>g.cu</path><line>3</line></where></record></ComputeSanitizerOutput>\n"
    )
    report = read_whole(path)
    assert report is not None and "g.cu:3" in errors(explain([report]))[0].message
    (tmp_path / "x.log").write_text("text")
    assert read_whole(tmp_path / "x.log") is None


def test_another_kernel_than_those_that_were_built_is_another_fault() -> None:
    built = BUILD + "ptxas info    : Compiling entry function 'score' for 'sm_90'\nptxas info    : Used 4 registers\n"
    trap = "========= COMPUTE-SANITIZER\n========= Trace/breakpoint trap\n=========     at {}(int *)+0x70\n=========     by thread (0,0,0) "
    trap += "in block (0,0,0)\n=========\n========= ERROR SUMMARY: 1 error\n"
    assert len(errors(joined(build=built, check=trap.format("other")))) == 2
    assert len(errors(joined(build=built, check=trap.format("score")))) == 1


def test_an_error_of_another_kind_in_another_log_stands_for_itself() -> None:
    told = joined(
        check=SANITIZER, app="CUDA error: misaligned address at a.cu:3\nCUDA error: invalid argument at a.cu:4\n"
    )
    assert [(one.severity, (written(one).follows or (None,))[0]) for one in told.findings] == [
        ("error", None),
        ("error", None),
        ("info", "app.log"),
    ]


def test_real_output_of_tools_is_one_story(sample: Callable[[str], Path]) -> None:
    """A null pointer of rope_kernel, as the driver, the debugger and the sanitizer told of it on a GPU."""
    names = ("coredump-full-stderr.txt", "cuda-gdb-full.txt", "cs-memcheck-rope-null.txt")
    told = explain([read_log(name, [sample(name).read_bytes()]) for name in names])
    (error,) = errors(told)
    assert error.id == "sanitizer-invalid-read" and "rope_kernel" in error.message
    assert sum("also reported by" in fact.text for fact in told.diagnosis[0].evidence) == 2


def test_a_real_build_and_a_real_trap_of_another_kernel_are_two_faults(sample: Callable[[str], Path]) -> None:
    names = ("nvcc-wmma-local.txt", "cs-memcheck-trap.txt")
    told = explain([read_log(name, [sample(name).read_bytes()]) for name in names])
    assert {one.id for one in errors(told)} == {"log-tile-in-local-memory", "sanitizer-trap"}
    assert [one.build.registers for one in told.kernels] == [4]


def test_stamps() -> None:
    assert stamp(b"2026-01-02T03:04:05.5Z x") == ("world", 1767323045.5)
    assert stamp(b"2026-01-02 03:04:05,250 x")[0] == "local"
    assert stamp(b"[Fri Jan  2 03:04:05 2026] x") == ("local", 1767323045.0)
    assert stamp(b"Jan  2 03:04:05 host kernel: x")[0] == "syslog"
    assert stamp(b"[  172.489745] x") == ("uptime", 172.489745)
    assert stamp(b"[00:40:46.606413] coredump: x") == ("day", 2446.606413)
    assert stamp(b"no time here") == ("", 0.0) == stamp(b"2026-99-99T03:04:05Z x")


def test_a_rank_that_waited_follows_from_the_rank_that_failed() -> None:
    waited = (
        "[rank0]:[E217 00:13:05 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600061 milliseconds before timing out."
    )
    failed = "[rank1]: RuntimeError: CUDA error: device-side assert triggered"
    logs = [read_log("rank0.log", [waited.encode()]), read_log("rank1.log", [failed.encode()])]
    told = explain(logs)
    assert "An assert in a kernel failed" in told.diagnosis[0].summary
    (follower,) = [one for one in told.findings if "waited 600 s" in one.message]
    assert follower.severity == "info" and "follows line 1 of rank1.log" in follower.message
    alone = explain(logs[:1])
    assert "waited 600 s" in alone.diagnosis[0].summary
