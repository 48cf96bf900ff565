"""One run of the program: its shared options, its configuration and its database."""

import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from sapwood.app.connection import Connection
    from sapwood.config.config_file import Config

__all__ = ["IN_TURN", "Invocation"]

T = TypeVar("T")

IN_TURN = 300.0
"""Seconds for which an open turn waits for a database that stopped answering."""

_OPENING = 5.0
"""Seconds for which a command waits for a database server that does not answer."""


class Invocation:
    """The options that every command shares, and the configuration and database they lead to."""

    def __init__(self) -> None:
        self.database = ""
        self.space = ""
        self.verbose = 0
        self.debug = bool(os.environ.get("SAPWOOD_DEBUG"))
        self.log_file: Path | None = None
        self._config: Config | None = None

    @property
    def config(self) -> "Config":
        """The configuration, changed by the options of the command line."""
        if self._config is None:
            from msgspec import structs

            from sapwood.config.config_file import load_config

            options = {"database": self.database, "space": self.space}
            changes = {name: value for name, value in options.items() if value}
            self._config = structs.replace(load_config(), **changes)
        return self._config

    def colour(self) -> bool | None:
        """Returns whether to print colours; None means only on a terminal."""
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return True if os.environ.get("FORCE_COLOR") else None

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs the coroutine of a command while the log file is open, and returns its result."""
        import asyncio

        from sapwood.cli.log_files import log_command, log_problem, log_to_folder

        with log_to_folder(self.config.log_folder, self.verbose) as self.log_file:
            log_command(self.config)
            try:
                return asyncio.run(work())
            except Exception as error:
                log_problem(error)
                raise

    @asynccontextmanager
    async def connected(
        self, *, opening: float = _OPENING, patience: float | None = None, reader: str = ""
    ) -> "AsyncGenerator[Connection]":
        """Opens the database and closes it on exit. Commits are written to the log file.

        `opening` is the number of seconds to wait for the server at first, `patience` the number
        of seconds to wait later; by default the same. `reader` is the address for a login of
        PostgreSQL that sees one space only. Raises `LogError`.
        """
        from sapwood.app.connection import connect
        from sapwood.cli.log_files import log_commits
        from sapwood.config.config_file import prepare_folder

        config = self.config
        prepare_folder(config)
        connection = await connect(
            config.address,
            config.space,
            opening=opening,
            patience=opening if patience is None else patience,
            reader=reader,
        )
        connection.dispatcher.on_commit(log_commits)
        try:
            yield connection
        finally:
            await connection.close()

    @asynccontextmanager
    async def connected_for_commands(self) -> "AsyncGenerator[Connection]":
        """Opens the database for commands. On exit, wakes the agents that got work by workers.

        Prints the names of these agents, with the command that runs them without a worker.
        """
        import click

        from sapwood.app.engines import agents_given_work, wake_by_workers

        async with self.connected() as connection, agents_given_work(connection) as agents:
            yield connection
        await wake_by_workers(self.config, agents)
        for agent in agents:
            click.echo(
                f"{agent} has work to do. If no worker runs, type: sapwood run --agent {agent}",
                err=True,
            )
