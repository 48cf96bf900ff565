"""Imports a session that is tended, so that it can be searched and replayed like our own."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from sapwood.app.collecting import collect
from sapwood.app.config import Config, load_config
from sapwood.app.connection import connect
from sapwood.app.importing import Importer
from sapwood.app.journaling import note
from sapwood.app.opening import prepare_folder
from sapwood.app.tending.tended import Tended
from sapwood.sources import homes_of

__all__ = ["bring"]

_PATIENCE = 5.0


def bring(tended: Tended, environ: Mapping[str, str]) -> None:
    """Brings what is new in the session and its subagents into the log."""
    turns = asyncio.run(_bring(Path(tended.path), load_config(environ)))
    if turns:
        says = f"Imported {turns} new turn{'' if turns == 1 else 's'}."
        note("indexed", says, session=tended.session, folder=tended.folder)


async def _bring(path: Path, config: Config) -> int:
    prepare_folder(config)
    connection = await connect(config.address, config.space, patience=_PATIENCE)
    importer = Importer(connection)
    try:
        found = await asyncio.to_thread(collect, [path], homes_of())
        return sum([(await importer.bring(each.path, each.source)).turns for each in found])
    finally:
        await importer.close()
        await connection.close()
