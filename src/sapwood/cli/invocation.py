"""One run of the program: what it was given, and how it gets at configuration and database."""

import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from sapwood.app.config import Config
    from sapwood.app.connection import Connection

__all__ = ["IN_TURN", "Invocation"]

T = TypeVar("T")

IN_TURN = 300.0
"""Seconds that a turn under way waits for a database that went away, with its answer in hand."""

_OPENING = 5.0
"""Seconds that a person at a shell waits for a server that is away."""


class Invocation:
    """What stood on the command line for every command, and what follows from it."""

    def __init__(self) -> None:
        self.database = ""
        self.space = ""
        self.verbose = 0
        self.debug = bool(os.environ.get("SAPWOOD_DEBUG"))
        self.log_file: Path | None = None
        self._config: Config | None = None

    @property
    def config(self) -> "Config":
        """The configuration in force, with what the command line put in its place."""
        if self._config is None:
            from msgspec import structs

            from sapwood.app.config import load_config

            given = {"database": self.database, "space": self.space}
            changes = {name: value for name, value in given.items() if value}
            self._config = structs.replace(load_config(), **changes)
        return self._config

    def colour(self) -> bool | None:
        """Whether to colour: never, always, or (None) if a person looks at it."""
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return True if os.environ.get("FORCE_COLOR") else None

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs what a command does, with a log file open."""
        import asyncio

        from sapwood.cli.logs import log_command, log_problem, logging_to

        with logging_to(self.config.log_folder, self.verbose) as self.log_file:
            log_command(self.config)
            try:
                return asyncio.run(work())
            except Exception as error:
                log_problem(error)
                raise

    @asynccontextmanager
    async def connected(
        self, *, opening: float = _OPENING, patience: float | None = None
    ) -> "AsyncGenerator[Connection]":
        """The database, open.

        `patience` is how many seconds each later step may wait, if not as many as `opening`.
        """
        from sapwood.app.connection import connect
        from sapwood.app.opening import prepare_folder
        from sapwood.app.telling import tell_log

        config = self.config
        prepare_folder(config)
        connection = await connect(
            config.address,
            config.space,
            opening=opening,
            patience=opening if patience is None else patience,
        )
        connection.dispatcher.on_commit(tell_log)
        try:
            yield connection
        finally:
            await connection.close()
