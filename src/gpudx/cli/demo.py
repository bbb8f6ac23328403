"""gpudx demo: build one of the incidents that come with gpudx, run it, and diagnose it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import click

from gpudx.cli.declare import Argument, Option
from gpudx.cli.options import CaseAsJson, NewCase
from gpudx.cli.speak import paragraph, say
from gpudx.errors import UserError

if TYPE_CHECKING:  # --help needs none of these
    from gpudx.demos.incidents import Incident
    from gpudx.lab.build import Built
    from gpudx.model import Case

BUILD = "build"
OLD_S, EDITED_S = 3 * 86_400, 60
DEFAULT = "opencl-set-rows-q4_0"  # needs no GPU
WITHOUT_COMPILER = "opencl-python-bounds"  # needs no GPU, builds no program, and its driver needs a linker
WITHOUT_TOOLS = "opencl-python-queues"  # has no kernel to compile or link either


def command(
    name: Annotated[str | None, Argument(help=f"The demo. [{DEFAULT}; without a C compiler one in Python]")] = None,
    list_them: Annotated[bool, Option("--list", help="List the demos.")] = False,
    case: NewCase = None,
    twin: Annotated[bool, Option("--twin", help="Run the same program without the fault.")] = False,
    as_json: CaseAsJson = False,
) -> None:
    """Build and run a program with a real fault, and diagnose it.

    \b
        gpudx demo
        gpudx demo --list
        gpudx demo opencl-set-rows-q4_0 --twin

    Exit status: 0 if the diagnosis is the expected one, else 1.
    """
    from gpudx.demos import incidents

    known = incidents.every()
    if list_them:
        _list(known.values())
        return
    name = name or _default()
    if name not in known:
        raise UserError(f"There is no demo {name!r}: choose one of {', '.join(known)}.")
    _play(known[name], case, twin, as_json)


def _list(every: Iterable[Incident]) -> None:
    from gpudx.cli.page import page_here
    from gpudx.report.layout import wrapped

    width = page_here().width
    for incident in every:
        click.echo("\n".join(wrapped(incident.title, width, f"{incident.name:<27} ")))


def _default() -> str:
    from gpudx import backends
    from gpudx.lab import build

    linking = backends.linking("opencl")
    if linking and linking.runs_without_kernels() and not linking.ready() and linking.bundled() is None:
        return WITHOUT_TOOLS
    try:
        build.compiler()
    except UserError:
        return WITHOUT_COMPILER if shutil.which("ld") else WITHOUT_TOOLS
    return DEFAULT


def _play(incident: Incident, wanted: Path | None, twin: bool, as_json: bool) -> None:
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import remember, run_and_tell, tell
    from gpudx.model.how import Fence, How

    _require_driver(incident)
    paragraph(f"{incident.name}: {incident.title}{' (twin: without the fault)' if twin else ''}")
    paragraph(incident.story.partition(". ")[0].rstrip(".") + ".")
    with new_case(wanted, incident.name) as directory:
        built = build_incident(incident, directory / BUILD, twin)
        how = How(
            fence=Fence() if incident.fence else None,
            stacks=bool(incident.python),
            dump=incident.dump and not twin,
            serialise=incident.serialise and not twin,
            probes=incident.probes,
            extra_env={**built.environment, **incident.environment, **(built.make if incident.script else {})},
        )
        told = run_and_tell(_command(incident, built, twin), directory, how, quiet=True)
    if told.case is not None:
        tell(told.case, less=1, as_json=as_json)
    remember(told.case, quiet=False)
    _judge(incident, told.case, twin, directory)


def _command(incident: Incident, built: Built, twin: bool) -> list[str]:
    words = incident.twin_run if twin and incident.twin_run else incident.run
    if incident.python:
        return [sys.executable, str(built.program), *words]
    return [str(built.program.with_name(incident.script) if incident.script else built.program), *words]


def _judge(incident: Incident, case: Case | None, twin: bool, directory: Path) -> NoReturn:
    """Say whether the case is the expected one, and end."""
    from gpudx.demos.incidents import differences

    if case is None:
        say(f"the analysis failed; case: {directory}")
        raise click.exceptions.Exit(1)
    wrong = differences(incident, case, twin)
    for one in wrong:
        paragraph(f"not as expected: {one}")
    if not wrong:
        say("as expected: " + ("no fault" if twin else str(incident.expect.get("cause", ""))))
    raise click.exceptions.Exit(1 if wrong else 0)


def build_incident(incident: Incident, folder: Path, twin: bool) -> Built:
    """Build a copy of the demo's program in `folder`."""
    from gpudx import backends
    from gpudx.lab import build

    try:
        shutil.copytree(incident.folder, folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error}): choose another place with --case DIR.") from None
    if incident.python:
        _require(incident)
        return build.Built(folder / incident.python)
    flags = incident.flags + (incident.twin_flags if twin else ())
    recipe = build.Recipe(incident.name, incident.sources, flags, incident.libs, incident.compiler, incident.kernels)
    built = build.build(recipe, folder, backends.linking(incident.backend))
    if incident.script:
        _age(built.program, [folder / name for name in incident.sources])
    return built


def _require_driver(incident: Incident) -> None:
    """UserError before anything is built, where the API's driver is missing and nothing stands in for it."""
    from gpudx import backends
    from gpudx.cli.doctor import DEVICES
    from gpudx.lab.probe import look_for

    if backends.linking(incident.backend) is not None:
        return  # the build looks for a driver
    for tool in backends.tools().get(incident.backend, ()):
        if tool.name in DEVICES.get(incident.backend, ()) and look_for(tool).state != "found":
            raise UserError(f"The demo needs a working {tool.name}: choose a demo that `gpudx doctor` lists.")


def _require(incident: Incident) -> None:
    """UserError when a demo in Python lacks what it needs."""
    from importlib.util import find_spec

    absent = [name for name in incident.tools if shutil.which(name) is None]
    if absent:
        raise UserError(f"The demo needs {absent[0]} in PATH: install it, or choose a demo that `gpudx doctor` lists.")
    missing = [name for name in incident.modules if find_spec(name) is None]
    if missing:
        raise UserError(f"The demo needs the Python module {missing[0]}: pip install 'gpudx[demo]'.")


def _age(program: Path, sources: list[Path]) -> None:
    """The program was built days ago, and its sources were edited since."""
    now = time.time()
    os.utime(program, (now - OLD_S, now - OLD_S))
    for source in sources:
        os.utime(source, (now - EDITED_S, now - EDITED_S))


def values() -> list[str]:
    """What shells complete."""
    from gpudx.demos import incidents

    return list(incidents.every())
