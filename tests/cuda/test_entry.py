"""How the hooks get in, and that nobody else notices."""

from __future__ import annotations

import subprocess

import pytest
from cuda_kit import PROGRAMS, WAYS, Kit, decode, of, values


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_the_driver_is_seen_and_changes_nothing(kit: Kit, way: str) -> None:
    plain, recorded = kit.both([kit.program("tour", way=way)])
    assert plain.returncode == 0 and recorded.seen == plain.seen
    calls = decode(recorded.trace())
    assert len(of(calls, "cuLaunchKernel")) == 7
    assert all(call.done for call in calls)
    assert recorded.trace().entries & 4


def test_all_ways_record_the_same_calls(kit: Kit) -> None:
    told = []
    for way in WAYS:
        calls = decode(kit.run([kit.program("tour", way=way)]).trace())
        told.append([(call.name, call.status, call.flags, call.context) for call in calls])
    assert told[0] == told[1] == told[2]


def test_a_driver_whose_own_names_can_be_taken_over(kit: Kit) -> None:
    program = kit.program("tour", way="BY_PROC_ADDRESS")
    plain = kit.run([program], recorded=False, driver=kit.loose_driver)
    recorded = kit.run([program], driver=kit.loose_driver)
    assert plain.returncode == 0 and recorded.seen == plain.seen
    assert len(of(decode(recorded.trace()), "cuLaunchKernel")) == 7


def test_the_call_site_is_the_programs(kit: Kit) -> None:
    for way in WAYS:
        program = kit.program("tour", way=way)
        trace = kit.run([program]).trace()
        launches = of(decode(trace), "cuLaunchKernel")
        (line,) = [row for row in trace.maps.splitlines() if str(program) in row and " r-xp " in row]
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        callers = trace.column("caller")
        assert all(begin <= int(callers[call.position]) < end for call in launches), way


def test_asking_cu_get_proc_address(kit: Kit) -> None:
    """For itself, before cuInit, for variants, without places to answer to, for what does not exist."""
    plain, recorded = kit.both([kit.program("asks")])
    assert plain.returncode == 0 and recorded.seen == plain.seen
    assert "itself: 0 found 0 same 1" in plain.stdout and "per thread differs: 1, is 1" in plain.stdout
    trace = recorded.trace()
    calls = decode(trace)
    (unknown,) = of(calls, "note_unknown_entry")
    assert trace.text(unknown.position) == "cuMadeTomorrow"
    (launch,) = of(calls, "cuLaunchKernel")
    assert launch.words["queue"] == 2 and launch.status == 400


def test_dlsym_keeps_its_meaning_for_everyone_else(kit: Kit) -> None:
    local, other, third = (kit.library(PROGRAMS / f"{n}.c", f"lib{n}.so") for n in ("local", "other", "third"))
    places = [f"-Wl,-rpath,{library.parent}" for library in (other, third)]
    program = kit.program("scopes", "-rdynamic", "-Wl,--no-as-needed", str(other), str(third), *places)
    plain, recorded = kit.both([program, local])
    assert plain.returncode == 0, plain.stderr
    assert "default 1, next 2\nold default 1, next 2\nlibrary's next: 3\n" in plain.stdout
    assert recorded.seen == plain.seen
    assert not recorded.traces()  # nothing touched a GPU


@pytest.mark.parametrize("order", ["{us}:{shim}", "{shim}:{us}"])
def test_another_tool_keeps_its_place(kit: Kit, order: str) -> None:
    """The program's calls reach the tool as before; what the tool passes on to the driver is its own business."""
    shim = kit.library(PROGRAMS / "shim.c", "libshim.so")
    program = kit.program("tour", way="LINKED")
    plain = kit.run([program], recorded=False, env={"LD_PRELOAD": str(shim)})
    recorded = kit.run([program], env={"LD_PRELOAD": order.format(us=kit.recorder, shim=shim)})
    assert "shim saw 5 allocations" in plain.stdout
    assert recorded.seen == plain.seen
    calls = decode(recorded.trace())
    assert len(of(calls, "cuLaunchKernel")) == 7 and not of(calls, "cuMemAlloc_v2")


def test_variables_that_are_called_like_functions_of_the_driver(kit: Kit) -> None:
    library = kit.library(PROGRAMS / "pointers.c", "libpointers.so")
    here = str(library.parent)
    program = kit.program("uses_pointers", "-L", here, "-lpointers", f"-Wl,-rpath,{here}")
    plain, recorded = kit.both([program])
    assert plain.stdout == "version: 13000\n" and recorded.seen == plain.seen
    assert len(of(decode(recorded.trace()), "cuInit")) == 1


@pytest.mark.parametrize("how", ["-Wl,-z,lazy", "-Wl,-z,now,-z,relro", "-Wl,-z,now,-z,norelro", "-no-pie", "-fno-plt"])
def test_every_way_of_linking(kit: Kit, how: str) -> None:
    plain, recorded = kit.both([kit.program("table", how, way="LINKED")])
    assert plain.stdout == "same address: 1\n" and recorded.seen == plain.seen
    told = [call.name for call in decode(recorded.trace()) if not call.name.startswith("note_")]
    assert told == ["cuInit", "cuCtxCreate_v2", "cuMemAlloc_v2", "cuMemFree_v2"]


def test_modules_that_come_and_go_while_other_threads_ask(kit: Kit) -> None:
    plugin = kit.library(PROGRAMS / "plugin.c", "libplugin.so", "-L", str(kit.driver), "-lcuda")
    plain, recorded = kit.both([kit.program("busy_loader"), plugin])
    assert plain.stdout == "failed: 0\n" and recorded.seen == plain.seen
    assert of(decode(recorded.trace()), "cuMemAlloc_v2")


def test_an_extension_module_linked_with_the_driver(kit: Kit) -> None:
    link = ["-L", str(kit.driver), "-lcuda"]
    plugin = kit.library(PROGRAMS / "plugin.c", "libplugin.so", *link)
    plain, recorded = kit.both([kit.program("opens_plugin"), plugin])
    assert plain.stdout == "start: 0\n" and recorded.seen == plain.seen
    (made,) = of(decode(recorded.trace()), "cuMemAlloc_v2")
    assert made.words["size"] == 12345


def test_a_weak_symbol_without_a_driver_stays_empty(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("weak")])
    assert plain.stdout == "driver: 0\n" and recorded.seen == plain.seen


def test_a_driver_that_is_closed_and_opened_again_elsewhere(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("reopen")])
    assert plain.stdout == "first: 0\ngone: 1\nsecond: 0\n" and recorded.seen == plain.seen
    assert [call.words["size"] for call in of(decode(recorded.trace()), "cuMemAlloc_v2")] == [111, 222]


def test_without_a_directory_nothing_is_recorded(kit: Kit) -> None:
    for way in WAYS:
        program = kit.program("tour", way=way)
        plain = kit.run([program], recorded=False)
        preloaded = kit.run([program], recorded=False, env={"LD_PRELOAD": str(kit.recorder)})
        assert preloaded.seen == plain.seen


def test_programs_without_a_gpu_leave_no_trace(kit: Kit) -> None:
    recorded = kit.run(["sh", "-c", "echo hello; true"])
    assert recorded.stdout == "hello\n" and not recorded.traces()


def test_no_name_of_the_driver_is_exported(kit: Kit) -> None:
    command = ["nm", "-D", "--defined-only", str(kit.recorder)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in table.splitlines()}
    assert "dlsym" in exported
    assert not {name for name in exported if name.startswith(("cu", "gdx", "rec_"))}


def test_tools_of_the_driver_get_its_own_functions(kit: Kit) -> None:
    """And a function that comes from there is described once the driver has accepted a launch of it."""
    tool = kit.library(PROGRAMS / "tool.c", "libnvidia-test.so")
    plain, recorded = kit.both([kit.program("uses_tool"), tool])
    assert plain.returncode == 0 and recorded.seen == plain.seen
    trace = recorded.trace()
    calls = decode(trace)
    assert not of(calls, "cuModuleLoadData", "cuModuleGetFunction")
    first, second = of(calls, "cuLaunchKernel")
    assert not values(trace, first.position) and first.flags & trace.schema.flags["cut"]
    assert [data for _, _, data in values(trace, second.position)] == [b"\1\0\0\0", b"\2\0\0\0"]
