"""A process that imports a session whose first command was carried out before it was imported.

`app/staged_session.py` says why. The turns in view are counted here too, and their words indexed
for search, so that later commands find both.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path


def main(transcript: str, environ: Mapping[str, str] = os.environ) -> None:
    """Imports the session. An error becomes a journal entry; the next command tries again."""
    from sapwood.journal import add_to_journal

    try:
        asyncio.run(_import(Path(transcript), environ))
    except Exception as error:
        message = f"Importing stopped: {type(error).__name__}: {error}"
        add_to_journal("failed", message, session=Path(transcript).stem)


async def _import(transcript: Path, environ: Mapping[str, str]) -> None:
    from sapwood.app.connection import connect
    from sapwood.config.config_file import load_config
    from sapwood.imports.importer import Importer

    config = load_config(environ)
    connection = await connect(config.address, config.space)  # gives the commands that wait
    importer = Importer(connection, dispatcher=connection.dispatcher)
    try:
        await importer.bring(transcript)
        await connection.log.search(connection.space, transcript.stem, limit=1)  # makes the index
    finally:
        await importer.close()
        await connection.close()


if __name__ == "__main__":
    (own_transcript,) = sys.argv[1:]
    main(own_transcript)
