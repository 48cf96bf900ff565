"""`sapwood retain` and `sapwood restore`: what is idle is listed, erased or archived, and back."""

from pathlib import Path

import pytest

from sapwood.api import Sapwood
from tests.cli.calling import Database, Sapwooder


async def _three(db: Sapwood) -> None:
    for name, labels in (("demo", ["trial"]), ("other", ["trial", "vip"]), ("plain", [])):
        agent = await db.start(name, labels=labels)
        await agent.record("Remember the heron.", "I will.")


def test_without_an_act_it_only_lists(database: Database, sapwood: Sapwooder) -> None:
    database(_three)
    ran = sapwood("retain", "--days", "0", "--label", "trial")
    assert ran.code == 0, ran.err
    assert "2 conversations would go, 0 left unchanged." in ran.out
    assert "demo" in ran.err
    assert "plain" not in ran.err
    assert "demo" in sapwood("agents").out
    assert "0 conversations" in sapwood("retain", "--days", "1").out


def test_it_erases_what_is_idle_and_not_held(database: Database, sapwood: Sapwooder) -> None:
    database(_three)
    assert sapwood("hold", "other").code == 0
    ran = sapwood("retain", "--days", "0", "--label", "trial", "--erase")
    assert "1 conversation erased, 1 left unchanged." in ran.out
    left = sapwood("agents").out
    assert "demo" not in left
    assert "other" in left
    assert "plain" in left
    assert "retention by system:retention" in sapwood("erase", "--list").out
    assert sapwood("retain", "--days", "0", "--erase", "--archive", "file:///x").code != 0


def test_it_archives_and_restore_brings_it_back(
    database: Database, sapwood: Sapwooder, tmp_path: Path
) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    database(_three)
    shown = sapwood("show", "demo").out
    archive = ("retain", "--days", "0", "--label", "trial", "--archive", f"file://{tmp_path}")
    assert "2 conversations archived" in sapwood(*archive).out
    assert "0 conversations archived, 2 left" in sapwood(*archive).out
    ran = sapwood("restore", "demo")
    assert ran.code == 0, ran.err
    assert "Restored demo: 1 agent." in ran.out
    assert sapwood("show", "demo").out == shown


def test_an_object_that_a_restore_names_is_kept(
    database: Database, sapwood: Sapwooder, tmp_path: Path
) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    database(_three)
    sapwood("retain", "--days", "0", "--label", "vip", "--archive", f"file://{tmp_path}")
    [file] = tmp_path.rglob("*.gz")
    ran = sapwood("restore", "--from", f"file://{file}", "--space", "drill")
    assert ran.code == 0, ran.err
    assert "The object is still in storage" in ran.out
    assert file.exists()
