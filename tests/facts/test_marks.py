"""The parts of a run that a program named."""

from __future__ import annotations

from pathlib import Path

from support.synthetic import World

from gpudx.facts import derive


def test_the_innermost_part_counts(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    names = []
    for begins, name in ((1, "a"), (1, "b"), (0, "b"), (0, "nobody"), (0, "a"), (1, "c")):
        world.note("note_mark", {"begins": begins}, name)
        names.append(world.buffer(64))
    facts = derive(world.write(tmp_path / "1.gdx"))
    made = facts.objects.table["born"][facts.objects.rows_of("buffer")]
    assert [facts.marks.at(int(position)) for position in made] == ["a", "b", "a", "a", "", "c"]
    assert facts.marks.at(0) == ""


def test_without_marks(schema: str, tmp_path: Path) -> None:
    facts = derive(World(schema).write(tmp_path / "1.gdx"))
    assert len(facts.marks) == 0 and facts.marks.at(3) == ""
