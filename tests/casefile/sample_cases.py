"""Cases for the tests of reports and case files: one of everything."""

from __future__ import annotations

from dataclasses import replace

from gpudx.model import (
    Allocation,
    Case,
    Diagnosis,
    Evidence,
    Finding,
    Guilty,
    Hypothesis,
    Instrument,
    Observation,
    Outcome,
    Prediction,
    ProcessInfo,
    Site,
    Verdict,
    Victim,
)

SITE = Site(
    call="clSetKernelArg",
    number=4212,
    pid=100,
    tid=101,
    api="opencl",
    kernel="restore_q4_0",
    argument=1,
    argument_name="d",
    value="0x48000",
    status="CL_SUCCESS",
    source="gpu.c:212",
    host_stack=("tensor_read at gpu.c:212", "main at main.c:80"),
)
FINDING = Finding(
    id="value-is-not-a-handle",
    severity="error",
    message="Argument 1 of restore_q4_0 is 0x48000, which is no object of this program.",
    evidence=(Evidence("No call returned 0x48000.", (4212,)),),
    site=SITE,
    causes=("value-is-not-a-handle",),
    facts=(("kernel", "restore_q4_0"), ("argument", "1")),
    count=3,
)
DIAGNOSIS = Diagnosis(
    cause="value-is-not-a-handle",
    status="confirmed",
    summary="A byte size (294,912) was passed to restore_q4_0 where a buffer belongs.",
    guilty=Guilty(
        api="opencl",
        call="clSetKernelArg",
        number=4212,
        kernel="restore_q4_0",
        launch=17,
        argument=1,
        argument_name="d",
        value="0x48000",
        allocation=Allocation("buffer #7", 294912, "live"),
        source="gpu.c:212",
        host_stack=SITE.host_stack,
    ),
    victim=Victim("The driver crashed in clSetKernelArg while following the value as a pointer.", SITE),
    evidence=(
        Evidence("No call of the program returned 0x48000.", (4212,)),
        Evidence("294,912 is the size of buffer #7.", (12, 13, 14, 15, 16, 17, 18), "traces/100.trace"),
    ),
    refutes_if="Some call would have returned 0x48000 as a handle.",
    fix=("Pass the buffer's handle, not its size, at gpu.c:212.", "Run the program again under gpudx."),
    findings=(FINDING.fingerprint,),
    not_counted=(Evidence("set_rows_q4_0 was the last launch; it had ended."),),
)
FULL = Case(
    command=("./app", "--layers", "4"),
    directory="/cases/one",
    created="2026-01-02T03:04:05Z",
    version="0.1.0",
    outcome=Outcome("signal", "The program was killed by SIGSEGV after 1.2 s.", None, "SIGSEGV", "0x48008", 1.2),
    instruments=(
        Instrument("recorder", "live", "Loaded into /srv/app; saw 5,214 calls and 120 launches.", "0.1.0"),
        Instrument("oclgrind", "missing", "Not installed."),
    ),
    processes=(ProcessInfo(100, 99, "./app --layers 4", "traces/100.trace", 5214, 120, ("12 calls lost.",), "killed"),),
    findings=(
        FINDING,
        Finding("leak", "warning", "2 buffers were never released.", (Evidence("No release was seen."),)),
        Finding("slow", "info", "A flush after every launch.", (Evidence("120 flushes."),)),
    ),
    diagnosis=(
        DIAGNOSIS,
        replace(DIAGNOSIS, cause="out-of-memory", status="refuted", summary="Memory ran out.", reason="It did not."),
        replace(DIAGNOSIS, cause="leak", status="likely", summary="Buffers are never released."),
    ),
    observations=(Observation("recorded", "reproduced", 1, 1), Observation("fenced", "passed", 0, 3, "Slow.")),
    not_checked=("Bounds of device memory.",),
    hypotheses=(
        Verdict(
            Hypothesis(
                "odd head",
                "The head size is odd.",
                (Prediction("recorded", "shown", "some launch has it"),),
                "None has it.",
                (),
            ),
            "refuted",
            (Evidence("launch 3 of kernel rope: head_dim = 16", (40,)),),
            (Evidence("head_dim was never set: 1 row not counted"),),
            "It is false of all 12 launches of rope*.",
        ),
    ),
    environment={"OPENCL_LAYERS": "libgpudx.so"},
)
PASSED = replace(
    FULL,
    outcome=Outcome("passed", "The program ended normally after 1.2 s.", 0),
    findings=(),
    diagnosis=(),
    hypotheses=(),
)
EMPTY = replace(PASSED, processes=(), instruments=FULL.instruments[:1], not_checked=(), observations=())
BLIND = replace(EMPTY, instruments=(Instrument("recorder", "not live", "./app is statically linked."),))
