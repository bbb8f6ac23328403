"""gpudx investigate with experiments in the user's words, on real programs; where a device is needed it is real (PoCL)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fake_lab import FakeLab, suggests
from support.opencl import OpenCL
from test_investigations import failing, investigate, read, start

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.investigate.loop import CONFIDENCE, Limits
from gpudx.investigate.loop import investigate as investigate_in
from gpudx.lab.experiments import NotReached
from gpudx.lab.kept_aside import kept_aside, put_back
from gpudx.model import Asked, Investigation
from gpudx.report import render

FAILS = "int main(int n, char **words) { return n > 1 && words[1][0] == '1'; }\n"
FINE = "int main(void) { return 0; }\n"


def seen(case: dict[str, Any], experiment: str) -> dict[str, Any]:
    return next(one for one in case["observations"] if one["experiment"] == experiment)


def told(case: dict[str, Any]) -> str:
    return " ".join(case["investigation"]["told"])


def program(folder: Path, source: str = FAILS, name: str = "app") -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-o", folder / name, folder / f"{name}.c"], check=True)
    return folder / name


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def left_over(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if ".gpudx-" in file.name]


def test_a_report_asks_for_the_same_again(opencl: OpenCL, tmp_path: Path) -> None:
    """Also when a case was gone on with: what was said later counts."""
    place, words = tmp_path / "case", ["--without", "poisoned", "--without", "fenced", "--confidence", "95"]
    case, _, _ = investigate(opencl, place, "--runs", "2", *words, "--", program(tmp_path), "1")
    assert case["investigation"]["options"] == [["--runs", "2"], *map(list, zip(words[::2], words[1::2], strict=True))]
    shown = "".join(render(casefile.read(place), "terminal").replace("\\\n", "").split())  # a long path is folded, too
    assert "".join(f"gpudx investigate --runs 2 {' '.join(words)} -- {tmp_path}/app 1".split()) in shown
    start(opencl, "--runs", "3", "--perturb", place).communicate(timeout=60)
    assert read(place)["investigation"]["options"][-2:] == [["--runs", "3"], ["--perturb", ""]]


# ---- sized ----


@pytest.mark.parametrize("place", ["{N}", pytest.param("", marks=pytest.mark.slow)])
def test_a_boundary_between_sizes(place: str, opencl: OpenCL, tmp_path: Path) -> None:
    """On PoCL: a kernel with an index of 8 bits, once by a word of the command, once by the environment."""
    words = ["--vary", "N=300,64,256,512", "--only", "sized", "--", failing(opencl), "narrow", *filter(None, [place])]
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert "It fails from N=300 on, and in no run up to 256; between these nothing was tried" in told(case), said
    assert seen(case, "sized:N=300")["reproduced"] == seen(case, "sized:N=300")["runs"] >= 3
    assert seen(case, "sized:N=64")["reproduced"] == 0 and seen(case, "sized:N=64")["high"] < 1
    assert case["command"][1:] == ["narrow", *(["512"] if place else [])]


def test_a_variable_that_nobody_reads(opencl: OpenCL, tmp_path: Path) -> None:
    app = program(tmp_path)
    case, said, _ = investigate(opencl, tmp_path / "case", "--vary", "SIZE=1,2", "--", app, "1")
    assert "every value of SIZE that was tried, or the program does not use SIZE" in told(case), said


def test_values_that_are_no_numbers_have_no_boundary(opencl: OpenCL, tmp_path: Path) -> None:
    words = ("--vary", "MODE=0a,1b", "--", program(tmp_path), "{MODE}")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert "It fails at MODE=1b, and in no run at 0a; there is no boundary" in told(case), said


def test_sizes_are_taken_up_again(opencl: OpenCL, tmp_path: Path) -> None:
    """The command of the case has {N} filled in; the investigation remembers where it stood."""
    words = ("--vary", "N=0,1", "--runs", "6", "--", program(tmp_path), "{N}")
    investigate(opencl, tmp_path / "case", *words)
    start(opencl, tmp_path / "case").communicate(timeout=60)
    assert "It fails from N=1 on, and in no run up to 0" in told(read(tmp_path / "case"))
    other = start(opencl, "--vary", "N=0,2", tmp_path / "case").communicate(timeout=60)
    assert "has runs with --vary 'N=0,1'" in " ".join(other[1].split())


@pytest.mark.parametrize("words", ["N", "N=", "N=1", "N=1,1", "1N=1,2", "=1,2"])
def test_words_that_vary_nothing(words: str, opencl: OpenCL, tmp_path: Path) -> None:
    out, err = start(opencl, "--case", tmp_path / "case", "--vary", words, "--", "true").communicate(timeout=60)
    assert "is not NAME=v1,v2,..." in " ".join(err.split()) and not (tmp_path / "case").exists(), out


def test_a_rare_pass_draws_no_boundary() -> None:
    """In a lab without processes: a value that fails now and then has no boundary beside it, and nothing is judged."""
    lab = FakeLab({"recorded": 0.9, "sized:N=1": 0.4}, (suggests("value-is-not-a-handle"),), asked=("sized:N=1",))
    state = investigate_in(Investigation(CONFIDENCE, asked=Asked(vary="N=1,2")), lab, Limits(budget_s=300.0))
    assert "from N=" not in state.told[0] and "sized:N=1" in lab.made
    told_of = {cell.weight for row in state.table for cell in row.cells if cell.experiment.startswith("sized")}
    assert told_of == {"nothing"}


# ---- rebuilt ----


def test_another_build(opencl: OpenCL, tmp_path: Path) -> None:
    app = program(tmp_path)
    before = digest(app)
    (tmp_path / "fine.c").write_text(FINE)
    words = ("--rebuild", f"cc -o {app} {tmp_path}/fine.c; echo done", "--", app, "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert seen(case, "rebuilt")["reproduced"] == 0 and seen(case, "rebuilt")["runs"] >= 5, said
    assert "With this build it fails less often" in told(case) and "may only hide the cause" in told(case)
    assert digest(app) == before and not left_over(tmp_path)
    assert (tmp_path / "case/rebuilt.txt").read_text() == "done\n"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        ("false", "ended with status 1"),
        ("true", "unchanged: make it rebuild"),
        ("rm {app}", "left no"),
        ("echo junk >> {app}; false", "ended with status 1"),
    ],
)
def test_a_build_that_gives_nothing_is_not_a_pass(build: str, says: str, opencl: OpenCL, tmp_path: Path) -> None:
    app = program(tmp_path)
    before, inode = digest(app), app.stat().st_ino
    words = ("--rebuild", build.format(app=app), "--", app, "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    one = seen(case, "rebuilt")
    assert one["runs"] == 0 and one["outcome"] == "not reached" and says in one["note"], said
    assert "Nothing is known about this build" in told(case)
    assert (digest(app), app.stat().st_ino) == (before, inode) and not left_over(tmp_path)


def test_a_link_to_the_program_stays_one(opencl: OpenCL, tmp_path: Path) -> None:
    app, link = program(tmp_path), tmp_path / "link"
    link.symlink_to("app")
    (tmp_path / "fine.c").write_text(FINE)
    words = ("--rebuild", f"rm {link}; cc -o {link} {tmp_path}/fine.c", "--", link, "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert seen(case, "rebuilt")["runs"] >= 5 and seen(case, "rebuilt")["reproduced"] == 0, said
    assert os.readlink(link) == "app" and subprocess.run([app, "1"], check=False).returncode == 1


def test_a_program_that_others_use_is_not_replaced(opencl: OpenCL, tmp_path: Path) -> None:
    for name in ("sh", "/bin/sh"):
        process = start(opencl, "--case", tmp_path / "case", "--rebuild", "true", "--", name, "-c", "exit 1")
        assert "others use too" in " ".join(process.communicate(timeout=60)[1].split()) and process.returncode == 2


def test_two_at_the_same_time_do_not_take_each_others_file(tmp_path: Path) -> None:
    app = program(tmp_path)
    before = digest(app)
    with kept_aside(str(app)):
        app.write_text("another build")
        with pytest.raises(NotReached, match="another gpudx"), kept_aside(str(app)):
            pass
        with pytest.raises(UserError, match="Another gpudx"):
            put_back(str(app))
        assert app.read_text() == "another build"
    assert digest(app) == before and not put_back(str(app))


SLOW = "#include <unistd.h>\nint main(int n, char **w) { (void)w; sleep(60); return n > 5; }\n"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("when", ["build", "run"])
def test_the_program_comes_back(how: signal.Signals, when: str, opencl: OpenCL, tmp_path: Path) -> None:
    """Cut off in the build or in a run of it: at once after Ctrl-C, at the next start after kill -9."""
    app, sign = program(tmp_path), tmp_path / "sign"
    before = digest(app)
    (tmp_path / "slow.c").write_text(SLOW)
    build = (
        f"echo junk > {app}; echo $$ > {sign}; exec sleep 60" if when == "build" else f"cc -o {app} {tmp_path}/slow.c"
    )
    process = start(opencl, "--rebuild", build, "--case", tmp_path / "case", "--", app, "1")
    until(lambda: sign.exists() if when == "build" else digest(app) != before and running(app))
    process.send_signal(how)
    process.communicate(timeout=60)
    if how == signal.SIGKILL:
        assert digest(app) != before and left_over(tmp_path) == ["app.gpudx-original"]
        said = start(opencl, "--runs", "1", "--case", tmp_path / "next", "--", app, "1").communicate(timeout=60)
        assert "had left another build in its place" in " ".join(said[1].split())
        end(running(app) if when == "run" else [int(sign.read_text())])
    assert digest(app) == before and not left_over(tmp_path)


def until(what: Any) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def running(app: Path) -> list[int]:
    """Processes of a program of this test that sleeps."""
    found = []
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            if words[0] == bytes(app) and (place / "wchan").exists():
                found.append(int(place.name))
    return found


def end(processes: list[int]) -> None:
    for one in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


# ---- revision ----


def git(where: Path, *words: str) -> str:
    settings = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *settings, *words], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: the first is fine, the second fails. The program is built, and not committed."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for source, name in ((FINE, "good"), (FAILS, "bad")):
        (folder / "app.c").write_text(source)
        git(folder, "add", "app.c")
        git(folder, "commit", "-qm", name)
        git(folder, "tag", name)
    program(folder)
    return folder


def test_another_revision(repository: Path, opencl: OpenCL, tmp_path: Path) -> None:
    before = (git(repository, "status", "--porcelain"), git(repository, "worktree", "list"))
    words = ("--revision", "good", "--build", "cc -o app app.c", "--", repository / "app", "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert seen(case, "revision")["reproduced"] == 0 and seen(case, "revision")["runs"] >= 5, said
    assert "With this revision it fails less often" in told(case)
    assert (git(repository, "status", "--porcelain"), git(repository, "worktree", "list")) == before


def test_the_same_revision_fails_too(repository: Path, opencl: OpenCL, tmp_path: Path) -> None:
    words = ("--revision", "HEAD", "--build", "cc -o app app.c", "--", repository / "app", "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    assert "With this revision it fails too" in told(case), said


@pytest.mark.parametrize(("build", "says"), [("false", "ended with status 1"), ("true", "left no app")])
def test_a_revision_that_gives_no_program(
    build: str, says: str, repository: Path, opencl: OpenCL, tmp_path: Path
) -> None:
    words = ("--revision", "good", "--build", build, "--", repository / "app", "1")
    case, said, _ = investigate(opencl, tmp_path / "case", *words)
    one = seen(case, "revision")
    assert one["runs"] == 0 and one["outcome"] == "not reached" and says in one["note"], said
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_revision_that_cannot_be_had(repository: Path, opencl: OpenCL, tmp_path: Path) -> None:
    def says(folder: Path, *words: str, **environment: str) -> str:
        app = folder / "app"
        process = start(opencl, "--case", tmp_path / "case", *words, "--", app, "1", **environment)
        text = " ".join(process.communicate(timeout=60)[1].split())
        assert process.returncode == 2 and not (tmp_path / "case").exists()
        return text

    wanted = ("--revision", "good", "--build", "true")
    assert "belong together" in says(repository, "--revision", "good")
    assert "has no revision nonsense: look for it with `git log`" in says(
        repository, "--revision", "nonsense", "--build", "true"
    )
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    program(tmp_path / "shallow")
    assert "git fetch --unshallow" in says(tmp_path / "shallow", *wanted)
    outside = tmp_path / "outside"
    outside.mkdir()
    program(outside)
    assert "No git repository holds" in says(outside, *wanted)
    assert "install it" in says(repository, *wanted, PATH="/nonexistent")
    (repository / "app.c").write_text(FINE)
    assert "not committed" in says(repository, *wanted)


def test_a_worktree_of_a_crash_goes_at_the_next_start(repository: Path, opencl: OpenCL, tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    stale = tmp_path / f"gpudx-revision-{gone.pid}-abc" / "tree"
    git(repository, "worktree", "add", "--detach", str(stale), "good")
    words = ("--revision", "good", "--build", "cc -o app app.c", "--", repository / "app", "1")
    investigate(opencl, tmp_path / "case", *words)
    assert not stale.parent.exists() and len(git(repository, "worktree", "list").splitlines()) == 1


# ---- waits at some launches ----


def test_a_wait_at_one_kernel(opencl: OpenCL, tmp_path: Path) -> None:
    """On PoCL: only a wait behind the launch that another queue reads too early makes the failure go."""
    words = (
        "--wait-at",
        "s*w,pick",
        "--only",
        "sync-before",
        "--only",
        "sync-after",
        "--",
        failing(opencl),
        "unordered",
    )
    case, said, code = investigate(opencl, tmp_path / "case", *words)
    assert seen(case, "sync-after:s*w")["reproduced"] == 0 and seen(case, "sync-after:s*w")["runs"] >= 5, said
    assert seen(case, "sync-before:s*w")["reproduced"] >= 3, "a wait before it changes nothing"
    assert seen(case, "sync-after:pick")["outcome"] == "not reached", "this kernel is not launched"
    assert "With a wait after the launches of s*w it fails less often" in told(case)
    assert code == 1 and not any(row["status"] == "confirmed" for row in case["investigation"]["table"])
