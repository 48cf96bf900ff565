"""The tool `slash` opens the database once for all calls, and closes it at the end."""

import asyncio
from pathlib import Path

import pytest

from sapwood.api import open
from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.mcp_server.catalog import Catalog


async def test_all_calls_use_one_connection_until_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    address = tmp_path / "log.db"
    opened: list[Connection] = []
    closed: list[Connection] = []
    close = Connection.close

    async def counted_connect(address: str, space: str) -> Connection:
        opened.append(await connect(address, space))
        return opened[-1]

    async def counted_close(self: Connection) -> None:
        closed.append(self)
        await close(self)

    async with open(address) as db:
        demo = await db.start("demo")
        catalog = Catalog(Config(database=str(address)), tmp_path, "demo")
        monkeypatch.setattr("sapwood.mcp_server.catalog.connect", counted_connect)
        monkeypatch.setattr(Connection, "close", counted_close)
        names = ("A", "B", "C")
        calls = (catalog.call("slash", {"command": "mark", "args": each}) for each in names)
        answers = await asyncio.gather(*calls)
        assert sorted(each.content for each in answers) == [f"Marked '{each}'." for each in names]
        await demo.run_command("/mark D")
        again = await catalog.call("slash", {"command": "mark", "args": "E"})
        assert again.content == "Marked 'E'."
        assert (len(opened), closed) == (1, [])
        await catalog.close()
        assert closed == opened
        assert {mark.name for mark in (await demo.state()).marks} == {*names, "D", "E"}
