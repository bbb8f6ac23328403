"""The CI examples: valid by the schemas of GitHub and GitLab (as the package check-jsonschema carries them), and their shell
steps run, on PoCL, with a program that fails and one that does not. Installing, and what the services do, is not tried."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import forked
from support.opencl import find_recorder
from support.simulated import crossed

import gpudx

yaml = pytest.importorskip("yaml", reason="pip install pyyaml")

ROOT = Path(__file__).resolve().parent.parent
GITHUB, GITLAB = ROOT / "examples/ci/github.yml", ROOT / "examples/ci/gitlab.yml"
FAILS = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, "kernel void k(global int *a) { a[get_global_id(0)] = 1; }").build(), "k")
buffer = cl.Buffer(context, 0, 4096)
kernel.set_arg(0, buffer)
cl.enqueue_nd_range_kernel(queue, kernel, (64,), LOCAL)
queue.finish()
"""


def schema(name: str) -> dict[str, Any]:
    found = importlib.util.find_spec("check_jsonschema")
    if found is None or found.origin is None:
        pytest.skip("the services' schemas are not here: pip install check-jsonschema")
    path = Path(found.origin).parent / "builtin_schemas/vendor" / name
    loaded = json.loads(path.read_text())
    assert isinstance(loaded, dict)
    return loaded


def read(path: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(path.read_text())
    loaded = {"on" if key is True else key: value for key, value in loaded.items()}  # YAML 1.1 reads "on" as true
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.parametrize(("path", "name"), [(GITHUB, "github-workflows.json"), (GITLAB, "gitlab-ci.json")])
def test_they_are_valid(path: Path, name: str) -> None:
    jsonschema.Draft7Validator(schema(name)).validate(read(path))


def github(folder: Path, environment: dict[str, str]) -> tuple[int, list[int]]:
    """As a runner does: each step in `bash -e`, those with !cancelled() after a failure too."""
    loaded = read(GITHUB)
    steps = [step for step in loaded["jobs"]["gpu"]["steps"] if "run" in step and step["name"] != "Install"]
    ran, *after = steps
    assert all("cancelled" in step["if"] for step in after)
    env = {**loaded["env"], **environment}
    return shell(ran["run"], folder, env), [shell(step["run"], folder, env) for step in after]


def gitlab(folder: Path, environment: dict[str, str]) -> tuple[int, list[int]]:
    job = read(GITLAB)["gpudx"]
    env = {**job["variables"], **environment}
    return shell("\n".join(job["script"]), folder, env), [shell("\n".join(job["after_script"]), folder, env)]


def shell(text: str, folder: Path, env: dict[str, str]) -> int:
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text], cwd=folder, env=env, capture_output=True, timeout=120
    )
    return done.returncode


@pytest.mark.parametrize(("service", "failed"), crossed([github, gitlab], [False, True]))
def test_their_steps_run(service: Any, failed: bool, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyopencl") is None or find_recorder() is None:
        pytest.skip("needs pyopencl[pocl] and the recorder")
    (tmp_path / "tests.py").write_text(FAILS.replace("LOCAL", "(1 << 20,)" if failed else "(8,)"))
    (tmp_path / "bin").mkdir()
    forked.command(tmp_path / "bin")
    own = {"TESTS": f"{sys.executable} tests.py", "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    own |= {"GPUDX_LIB": str(find_recorder()), "PYTHONPATH": str(Path(gpudx.__file__).parents[1])}
    ran, after = service(tmp_path, {**os.environ, **own, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")})
    assert (ran != 0) == failed and not any(after)
    results = json.loads((tmp_path / "gpudx.sarif").read_text())["runs"][0]["results"]
    assert any(result["level"] == "error" for result in results) == failed
    assert ("<failure" in (tmp_path / "gpudx.xml").read_text()) == failed
    assert "case.json" in zipfile.ZipFile(tmp_path / "case.gpudx.zip").namelist()
