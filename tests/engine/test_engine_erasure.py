"""Erasing in a database that only processes without DBOS have used."""

import sqlite3
from pathlib import Path

import psycopg

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.drive_queue import erase_workflows
from sapwood.engine.wake_database import engine_file

SPACE, ADA = Space("main"), AgentId("ada")


def test_a_file_without_tables_of_dbos_has_nothing_to_erase(tmp_path: Path) -> None:
    address = str(tmp_path / "log.db")
    file = engine_file(address)
    assert file is not None
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE bells (space TEXT, agent TEXT)")
    connection.close()
    erase_workflows(address, SPACE, ADA)


def test_a_schema_without_tables_of_dbos_has_nothing_to_erase(engine_database: str) -> None:
    with psycopg.connect(engine_database, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS sapwood_engine")
        connection.execute("CREATE TABLE IF NOT EXISTS sapwood_engine.bells (space text)")
    erase_workflows(engine_database, SPACE, ADA)
