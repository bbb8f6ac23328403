"""contracts.toml and hypotheses.toml: what is wrong in them is told in one sentence, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.contracts import contracts, hypotheses
from gpudx.contracts.launches import Argument
from gpudx.errors import UserError

GOOD = """
[[contract]]
kernel = "rope_*"
require = ["head_dim % 2 == 0",
  "bytes(x) >= rows * 4"]
where = "rows > 0"
why = "the rotation works on pairs"
names = { head_dim = 3, x = "arg0", base = "float arg4" }

[[contract]]
kernel = "add"
require = "n > 0"
"""


def test_contracts(tmp_path: Path) -> None:
    path = tmp_path / "contracts.toml"
    path.write_text(GOOD)
    rope, add = contracts.read(path)
    assert (rope.kernel, rope.why, rope.line, add.line) == ("rope_*", "the rotation works on pairs", 2, 10)
    assert [rule.text for rule in rope.require] == ["head_dim % 2 == 0", "bytes(x) >= rows * 4"]
    assert [rule.line for rule in rope.require] == [4, 5] and rope.where is not None and rope.where.line == 6
    assert rope.names == {"head_dim": Argument(3), "x": Argument(0), "base": Argument(4, "float")}
    assert [rule.text for rule in add.require] == ["n > 0"] and add.where is None and not add.names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[contract]\n", "is not TOML"),
        ("", "has no [[contract]]"),
        ("contract = 3", "has no [[contract]]"),
        ("[[contracts]]\nkernel = 'a'", "line 1: there is no contracts here; write [[contract]]"),
        ("[[contract]]\nrequire = ['n > 0']", "line 1: kernel must be a string"),
        ("[[contract]]\nkernel = 'a'", "line 1: require must be a list of expressions"),
        ("[[contract]]\nkernel = 'a'\nrequire = []", "line 3: require must be a list of expressions"),
        ("[[contract]]\nkernel = 'a'\nrequire = [3]", 'an expression must be a string; write "n > 0" instead of 3'),
        ("[[contract]]\nkernel = 'a'\nrequire = ['n > 0',\n\n'm >']", 'line 5: "m >" is not an expression'),
        ("[[contract]]\nkernel = 'a'\nrequires = ['n']", "line 3: there is no key requires; did you mean require?"),
        ("[[contract]]\nkernel = 'a'\nrequire = 'n'\nnames = 3", "line 4: names must be a table"),
        ("[[contract]]\nkernel = 'a'\nrequire = 'n'\nnames = { n = -1 }", "line 4: n must be a place from 0 on"),
        ("[[contract]]\nkernel = 'a'\nrequire = 'n'\nnames = { n = 'flot arg1' }", "no type flot; did you mean float?"),
        (
            "[[contract]]\nkernel = 'a'\nrequire = 'n'\nnames = { launch = 1 }",
            "'launch' cannot be a name of an argument",
        ),
        ("[[contract]]\nkernel = 'a'\nrequire = 'n'\nnames = { arg1 = 1 }", "'arg1' cannot be a name of an argument"),
        ("[[contract]]\nkernel = 'a'\nrequire = 'n'\nwhy = 3", "line 4: why must be a string"),
    ],
)
def test_what_is_wrong_in_contracts(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "contracts.toml"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        contracts.read(path)
    assert says in str(refused.value) and str(path) in str(refused.value) and "\n" not in str(refused.value)


HEAD = "[[hypothesis]]\nname = 'a'\nclaim = 'b'\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD, "line 1: a hypothesis has one of launches, allocations, errors, and this one has 0"),
        (HEAD + "errors = 'status'\nallocations = 'size'", "and this one has 2"),
        (HEAD + "launches = 'n > 0'", "line 4: launches must be a table"),
        (HEAD + "launches = { kernal = 'a' }", "line 4: there is no key kernal; did you mean kernel?"),
        (HEAD + "launches = { predicate = 'n' }", "kernel must be a string"),
        (HEAD + "launches = { kernel = 'a' }", "an expression is missing"),
        (HEAD + "allocations = 'sise == 0'", "line 4: allocations have no sise; did you mean size?"),
        (HEAD + "errors = 'status'\nexpect = 'always'", "line 5: there is no expect always"),
        (HEAD + "errors = 'status'\nexperiment = 'serialized'", "no experiment serialized; did you mean serialised?"),
        ("[[hypothesis]]\nname = 'a'\nerrors = 'status'", "line 1: claim must be a string"),
    ],
)
def test_what_is_wrong_in_hypotheses(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "hypotheses.toml"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        hypotheses.read(path)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        contracts.read(tmp_path / "gone.toml")
    with pytest.raises(UserError, match="cannot be read"):
        contracts.read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="UTF-8"):
        contracts.read(tmp_path / "bytes.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(UserError, match="not TOML"):
        contracts.read(tmp_path / "deep.toml")
    (tmp_path / "long.toml").write_text("#" * (2 << 20))
    with pytest.raises(UserError, match="split it"):
        contracts.read(tmp_path / "long.toml")
