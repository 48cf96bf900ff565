"""What was said in a tended session can be searched, whichever hook ran last."""

import sqlite3
from pathlib import Path

from tests.app.tending.conftest import Tended


def turns_in(file: Path) -> int:
    with sqlite3.connect(file) as database:
        (found,) = database.execute("SELECT count(*) FROM events").fetchone()
    return found


def test_a_stop_imports_and_the_journal_tells_it(tended: Tended) -> None:
    talk = tended.transcript().ask("Where do herons nest?").say("In tall trees.")
    tended.call("stop", talk)
    assert turns_in(tended.data / "sapwood.db") > 0
    (act,) = tended.acts(indexed=True)
    assert (act.did, act.says) == ("indexed", "Imported 1 new turn.")


def test_a_second_stop_without_news_tells_nothing(tended: Tended) -> None:
    talk = tended.transcript().ask("Where do herons nest?").say("In tall trees.")
    tended.call("stop", talk)
    tended.call("stop", talk)
    assert len(tended.acts(indexed=True)) == 1


def test_a_database_that_cannot_be_reached_is_told_and_spoils_nothing(tended: Tended) -> None:
    (tended.home / "config.toml").write_text('database = "nonsense://here"\n')
    talk = tended.transcript().ask("Where do herons nest?").say("In tall trees.")
    assert tended.call("pre-compact", talk) is None
    assert [act.did for act in tended.acts()] == ["archived", "failed"]
    assert "Indexing stopped" in tended.acts()[-1].says
