"""`sapwood migrate`: says whether it is needed, migrates, and prints grants."""

from pathlib import Path

from tests.cli.calling import Sapwooder
from tests.store.sqlite.freeze import RELEASED


def _old_file(path: Path) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((RELEASED / "0005.sql").read_text(encoding="utf-8"))


def test_an_old_file_needs_it_and_a_migrated_one_does_not(home: Path, sapwood: Sapwooder) -> None:
    file = home / "old.db"
    _old_file(file)
    checked = sapwood("migrate", "--check", "--database", str(file))
    assert (checked.code, "schema 5" in checked.out) == (1, True)
    assert "from schema 5" in sapwood("migrate", "--database", str(file)).out
    for options in (["--check"], []):
        again = sapwood("migrate", *options, "--database", str(file))
        assert (again.code, "needs no migration" in again.out) == (0, True)


def test_the_grants_are_sql_for_two_roles(sapwood: Sapwooder) -> None:
    printed = sapwood("migrate", "--print-grants").out
    assert "CREATE ROLE sapwood_worker" in printed
    assert "CREATE ROLE sapwood_eraser" in printed
