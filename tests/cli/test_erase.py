"""`sapwood erase` and `sapwood hold`: preview, confirmation, record, refusal."""

import json
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from tests.cli.calling import Database, Sapwooder


async def _two(db: Sapwood) -> None:
    for name in ("demo", "other"):
        agent = await db.start(name)
        await agent.record("Remember the heron.", "I will.")


def test_without_a_confirmation_nothing_is_erased(database: Database, sapwood: Sapwooder) -> None:
    database(_two)
    ran = sapwood("erase", "demo")
    assert ran.code != 0
    assert "2 events" in ran.err
    assert "--yes" in ran.err
    assert "demo" in sapwood("agents").out


def test_with_yes_it_is_gone_and_a_record_stays(database: Database, sapwood: Sapwooder) -> None:
    database(_two)
    ran = sapwood("erase", "demo", "--yes", "--by", "ada")
    assert ran.code == 0, ran.err
    assert "1 agent, 2 events" in ran.out
    assert "demo" not in sapwood("agents").out
    assert "other" in sapwood("agents").out
    (line,) = sapwood("erase", "--list", "--json").out.splitlines()
    record = json.loads(line)
    assert (record["by"], record["agents"], record["scope"]) == ("human:ada", 1, "conversation")
    assert "demo" not in line


def test_a_space_is_erased_as_a_whole(database: Database, sapwood: Sapwooder) -> None:
    database(_two)
    assert sapwood("erase", "--all-of-space", "--yes").code == 0
    assert "nothing to erase" in sapwood("erase", "--all-of-space", "--yes").out


def test_a_hold_refuses_and_is_listed(database: Database, sapwood: Sapwooder) -> None:
    database(_two)
    held = sapwood("hold", "demo", "--reason", "case 42", "--by", "judge")
    assert held.code == 0, held.err
    ran = sapwood("erase", "demo", "--yes")
    assert ran.code != 0
    assert "case 42" in ran.err
    (line,) = sapwood("hold", "--json").out.splitlines()
    hold = json.loads(line)
    assert (hold["reason"], hold["by"]) == ("case 42", "human:judge")
    assert sapwood("hold", "--release", hold["id"]).code == 0
    assert sapwood("erase", "demo", "--yes").code == 0
    assert "released" in sapwood("hold").out


def test_a_hold_that_is_not_there_cannot_be_released(sapwood: Sapwooder) -> None:
    ran = sapwood("hold", "--release", "nothing")
    assert ran.code != 0
    assert "sapwood hold" in ran.err


def test_the_files_can_be_written_again_by_hand(database: Database, sapwood: Sapwooder) -> None:
    database(_two)
    assert sapwood("erase", "--scrub").out == "The database files no longer contain erased data.\n"


def test_what_was_erased_is_erased_again_after_a_restore(
    database: Database, sapwood: Sapwooder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_ERASURES", str(tmp_path / "erasures.jsonl"))
    database(_two)
    copy = str(tmp_path / "copy.db")
    assert "Wrote" in sapwood("backup", copy).out
    assert sapwood("erase", "demo", "--yes").code == 0
    listed = str(tmp_path / "erasures.jsonl")
    assert "Nothing in these lists" in sapwood("erase", "--again", listed).out
    ran = sapwood("erase", "--again", listed, "--database", copy)
    assert ran.code != 0
    assert "the restore brought back 1 agent that had been erased" in ran.err
    ran = sapwood("erase", "--again", listed, "--yes", "--database", copy)
    assert ran.code == 0, ran.err
    assert "1 agent, 2 events" in ran.out
    left = sapwood("agents", "--database", copy).out
    assert "demo" not in left
    assert "other" in left


def test_a_hold_of_a_restored_database_is_obeyed(
    database: Database, sapwood: Sapwooder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_ERASURES", str(tmp_path / "erasures.jsonl"))
    database(_two)
    assert sapwood("hold", "demo").code == 0
    copy = str(tmp_path / "copy.db")
    assert sapwood("backup", copy).code == 0
    hold = json.loads(sapwood("hold", "--json").out)["id"]
    assert sapwood("hold", "--release", hold).code == 0
    assert sapwood("erase", "demo", "--yes").code == 0
    listed = str(tmp_path / "erasures.jsonl")
    ran = sapwood("erase", "--again", listed, "--yes", "--database", copy)
    assert ran.code != 0
    assert "under a legal hold" in ran.err
    assert "demo" in sapwood("agents", "--database", copy).out
