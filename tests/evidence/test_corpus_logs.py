"""Real logs as people paste them, read in place where a folder with them is: GPUDX_CORPUS, or ../shared/corpus/logs.

The texts are other people's: nothing of them is here but what kind of event comes first in each, and at which line.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from support.typed import written

from gpudx.diagnose.issue import answer, without_prose
from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence._lines import chunks
from gpudx.evidence.logs._fold import read_log

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("GPUDX_CORPUS", ROOT.parent / "shared" / "corpus" / "logs"))
FILES = sorted(CORPUS.glob("*.txt"))
pytestmark = pytest.mark.skipif(not FILES, reason="needs a folder of real logs, named in GPUDX_CORPUS")

# By the first digits of the sha256 of a file's name without its ending: the format of the first event, and its line.
FIRST = {
    "132c20b0": ("amdgpu", 1),
    "c90f53ea": ("amdgpu", 1),
    "27722c4d": ("asan", 2),
    "5f6e18ec": ("compute-sanitizer", 1),
    "c4b5bfab": ("compute-sanitizer", 1),
    "ce3fdf3f": ("compute-sanitizer", 1),
    "64d6357d": ("compute-sanitizer", 2),
    "73938f86": ("compute-sanitizer", 2),
    "c425fc24": ("compute-sanitizer", 2),
    "e50e70a5": ("compute-sanitizer", 1),
    "c1b9563d": ("compute-sanitizer", 7),
    "f91b4430": ("cuda-debugger", 1),
    "7df28a24": ("cuda-debugger", 2),
    "687c7827": ("cuda-debugger", 3),
    "870165ec": ("cuda-debugger", 4),
    "39965ecd": ("xla", 1),
    "b8e79537": ("cuda-error", 1),
    "e208baa0": ("cuda-error", 1),
    "8099703d": ("cuda-error", 2),
    "73b83292": ("cuda-error", 3),
    "1934456a": ("device-assert", 1),
    "b91ca974": ("ggml", 2),
    "309a6e12": ("gpu-kernel-driver", 1),
    "56fe3573": ("gpu-kernel-driver", 1),
    "215425c6": ("gpu-kernel-driver", 2),
    "65fff92a": ("hip-error", 1),
    "5b31e48d": ("host-assert", 3),
    "aa59afba": ("host-crash", 1),
    "9771431e": ("nccl", 1),
    "213554fe": ("oclgrind", 1),
    "ecd8fa15": ("oclgrind", 1),
    "4a34cd38": ("opencl-error", 1),
    "a420f88f": ("opencl-error", 2),
    "dc4415ec": ("clintercept", 2),
    "64ea65d6": ("pocl", 2),
    "7ae16122": ("ptxas", 1),
    "ceef96dc": ("ptxas", 4),
    "a0998593": ("pytorch", 1),
    "f25f4a89": ("pytorch", 4),
    "670e8260": ("rocm-fault", 1),
    "b6dfb0b0": ("rocm-fault", 1),
    "7d334d89": ("rocm-fault", 2),
    "dba51db0": ("rocm-runtime", 1),
    "68ea0a63": ("rocm-runtime", 2),
    "4fe0e2e3": ("tests", 5),
    "930875e7": ("tests", 6),
    "b0081f65": ("triton", 2),
    "4e423b7b": ("vulkan-validation", 2),
    "074249a5": ("xid", 1),
    "0ecf65b8": ("xid", 1),
    "7dc6a8d3": ("xid", 1),
}
PLACE = re.compile(r"[\w/]+\.(?:cu|cuh|cpp|cc|c|py|rs|h|hpp):\d+")


def read(path: Path) -> Explained:
    return explain([read_log(path.name, chunks(path))])


def known(path: Path) -> tuple[str, int] | None:
    return FIRST.get(hashlib.sha256(path.stem.encode()).hexdigest()[:8])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_first_event(path: Path) -> None:
    if known(path) is None:
        pytest.skip("a log that this test does not know yet")
    told = read(path)
    marked = [entry.findings[0] for entry in told.diagnosis]
    standing = [one for one in told.findings if one.severity != "info" and not one.id.endswith("cut-off")]
    first = next((one for one in standing if one.fingerprint in marked), standing[0])
    assert (written(first).format, written(first).line) == known(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_line_or_kernel_is_blamed_for_an_asynchronous_error(path: Path) -> None:
    told = read(path)
    for one in told.findings:
        if one.severity == "error" and written(one).role == "report":
            assert not PLACE.search(one.message) and "the kernel " not in one.message.lower()
    for entry in told.diagnosis:
        assert entry.guilty is None
        if entry.cause == "device-error-reported":
            assert entry.status == "inconclusive"


SEEDS = sorted((CORPUS.parent.parent / "seeds").glob("*.txt"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem[:3])
def test_documents_about_failures(path: Path) -> None:
    """Prose with pieces of logs in it: nothing that it accuses is repeated, and small addresses are decoded."""
    told = read(path)
    assert all(entry.guilty is None for entry in told.diagnosis)
    if path.name.startswith("000"):
        assert "9 * 2^15 plus 8" in " ".join(fact.text for fact in told.findings[0].evidence)
    if path.name.startswith("003"):
        (entry,) = told.diagnosis
        assert entry.cause == "device-trap" and "A tensor-core load uses memory of a single thread" in entry.summary
        assert any("also reported by compute-sanitizer" in fact.text for fact in entry.evidence), "one fault, two tools"


# By the number of the document: what the answer to it must say.
ANSWERS = {
    "000": ("crashed in clSetKernelArg, on the host", "294,912 bytes"),
    "001": ("may be one fault", "noticed at RoPE Q", "grep -F"),
    "002": ("may be one fault", "hipMemcpy only returned it", "noticed at RoPE Q", "the sizes of the buffers"),
    "003": ("A tensor-core load uses memory of a single thread", "the compiler warned"),
    "004": ("Runs of the same 219 tests", "gpudx flake", "which by its name launches no kernel"),
}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem[:3])
def test_the_answer_agrees_with_what_was_really_wrong(path: Path) -> None:
    text = path.read_text()
    told = answer(text, explain([without_prose(text, read_log(path.name, chunks(path)))]))
    assert [part for part in ANSWERS.get(path.name[:3], ()) if part not in told] == []
