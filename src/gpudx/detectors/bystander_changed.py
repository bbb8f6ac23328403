"""Memory changed during work that was not passed it (gpudx run --watch).

The program's memory is compared whenever it has waited and all its work is done. What changed since the last comparison must
have been passed to work that ran in between: to a launch as an argument that it may write, to a copy or fill as its range, to the
program itself as a mapping. Other bytes were written by a launch that left its own memory. Nothing faults when such a write
lands in another live allocation, and tools that check addresses only see an address that is allowed.

If several launches ran between two comparisons, a second run that compares before and after each of them names the launch.
Where kernels use addresses, a launch may have got one from elsewhere: it is a warning if no memory of the launch is right
beside what changed, and for pointers to const. Nothing is reported if the address was seen in other memory, or while a graph
ran.

Example:

    cl_mem row = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){ 0, 4096 }, &status);
    cl_mem next = clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){ 4096, 4096 }, &status);
    clSetKernelArg(scale, 0, sizeof row, &row);
    size_t items = 1025;                                           // 1,024 floats are in row; the last item writes next[0]
    clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 0, NULL, NULL);

Fix it in the kernel's index or guard, or where the host computes the size.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.bystanders import Bystander, Neighbour
from gpudx.model import Access, Attribution, Cause, Evidence, Finding, Severity
from gpudx.text import capital, plural

ID = "bystander-changed"
CAUSE = Cause(
    id="write-into-bystander",
    title="A launch wrote into memory that it was not passed",
    refutes_if="The bytes also change in a run without the named launch.",
    fix=(
        "Compare the size of the launch's own memory with what its grid and size arguments can reach; correct the smaller.",
        "Where several launches are named: gpudx run --watch --serialise compares before and after each of them.",
    ),
    predicts=(("watched", "the same bytes change again, and a comparison after each launch names the launch"),),
    settled_by="gpudx run --watch --serialise, which compares right before and right after each launch",
    about="""A launch wrote into memory that it was not passed.

Both pieces of memory are the program's, so nothing faults: the launch runs past the end of what it was passed, or indexes with a
wrong number, and another allocation, or another part of the same one, holds wrong values from then on. The symptom is a wrong
result somewhere else, later, which changes when sizes or the order of allocations change.
""",
)
SHOWN = 8


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each stretch that changed and was given to nobody."""
    for one in facts.bystanders.found:
        yield _finding(facts, one)


def _finding(facts: Facts, one: Bystander) -> Finding:
    argument = one.nearest.argument if one.nearest else None
    site = facts.sites.at(one.only, argument=argument) if one.only is not None else None
    sizes = facts.objects.table["size"]
    return Finding(
        id=ID,
        severity=_severity(one),
        message=_message(facts, one),
        evidence=(*_seen(facts, one), *_suspects(facts, one), *_doubts(one)),
        site=site,
        others=() if site else tuple(facts.sites.at(p) for p in one.suspects[:SHOWN]),
        allocation=allocation_of(facts, one.part, whole=int(sizes[one.root])),
        causes=("write-into-bystander",),
        facts=(
            ("kernel", site.kernel or "?" if site else ""),
            ("first", str(one.first)),
            ("size", str(sizes[one.root])),
        ),
        certainty="observed" if _severity(one) == "error" else "inferred",
        attribution=_attribution(one),
        because=_because(one) if _severity(one) == "error" else "",
        access=Access(kind="write", width=one.last - one.first + 1, offset=one.first - one.begin, seen_by="watch"),
    )


def _severity(one: Bystander) -> Severity:
    """An error only where no more than a launch that left its memory can have done it."""
    if not one.suspects:
        return "info"
    elsewhere = one.by_address and (one.read_only or not one.beside)
    return "warning" if elsewhere else "error"


def _attribution(one: Bystander) -> Attribution:
    if one.only is None:
        return "unknown"
    return "this" if one.change.each and not one.by_address else "probable"


def _because(one: Bystander) -> str:
    if one.only is None:
        return "The bytes were written; it is not known which of the launches in between did it."
    if not one.change.each:
        return "It is the only launch in between."
    if one.by_address:
        return "The bytes changed during this launch; it is not shown that it had no address of them from elsewhere."
    return "The bytes changed during this launch, and nothing else ran."


# ---- words ----


def _what(facts: Facts, one: Bystander) -> str:
    """ "bytes 4,096 to 4,099 of buffer #5 (1,048,576 bytes)"."""
    first, last = one.first - one.begin, one.last - one.begin
    where = f"byte {first:,}" if first == last else f"bytes {first:,} to {last:,}"
    size = plural(int(facts.objects.table["size"][one.part]), "byte")
    return f"{where} of {facts.objects.label(one.part)} ({size}{', in none of its live parts' if one.between_parts else ''})"


def _message(facts: Facts, one: Bystander) -> str:
    what = _what(facts, one)
    if one.only is not None:
        site = facts.sites.at(one.only)
        given = "which it was passed only to read" if one.read_only else "which it was not passed"
        near = f"; {_near(facts, one.nearest)}" if one.nearest else ""
        return f"Launch {site.launch} of kernel {site.kernel} (call {site.number}) changed {what}, {given}{near}."
    if not one.suspects:
        return f"{capital(what)} changed, and no recorded launch or copy could have done it."
    many = plural(len(one.suspects), "launch", "launches")
    return (
        f"{capital(what)} changed, and none of the {many} that ran in between was passed them for writing: "
        "one of them wrote outside its own memory."
    )


def _near(facts: Facts, near: Neighbour) -> str:
    far = plural(near.distance, "byte") if near.distance else "right"
    who = f"argument {near.argument} ({facts.objects.label(near.object)})"
    return f"{who} begins {far} after them" if near.behind else f"{who} ends {far} before them"


def _seen(facts: Facts, one: Bystander) -> Iterator[Evidence]:
    change = one.change
    how = "right before and right after the launch" if change.each else "whenever the program had waited"
    yield Evidence(f"the memory was compared {how}, and in between {_what(facts, one)} changed")
    if one.first == change.first:
        yield Evidence(f"the 8 bytes that begin there were {change.was:#x} and are {change.now:#x}")


def _suspects(facts: Facts, one: Bystander) -> Iterator[Evidence]:
    for position in one.suspects[:SHOWN]:
        launch = facts.launches.at_position(position) or 0
        near = f"; {_near(facts, one.near[position])}" if position in one.near else ""
        text = f"launch {launch + 1} of kernel {facts.launches.name(launch)} may have run in between{near}"
        yield Evidence(text, (position + 1,))
    if len(one.suspects) > SHOWN:
        yield Evidence(f"{plural(len(one.suspects) - SHOWN, 'other launch', 'other launches')} too")


def _doubts(one: Bystander) -> Iterator[Evidence]:
    if one.by_address and one.read_only:
        yield Evidence("a launch was passed a const pointer to it, and a kernel may cast the const away")
    if one.by_address and not one.beside:
        yield Evidence(
            "none of the launch's known memory is next to it: it may have got the address from elsewhere"
        )
