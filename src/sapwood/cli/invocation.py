"""One run of the program: its shared options, its configuration and its database."""

import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from sapwood.app.connection import Connection
    from sapwood.config.config_file import Config


T = TypeVar("T")

_OVER_SERVER = frozenset(
    {
        *("open", "run", "do", "send", "agents", "show", "log", "search", "replay", "diff"),
        *("answer", "export", "fork", "compact", "interrupt", "kill"),
    }
)
"""The commands that can be used with a server of another machine."""

IN_TURN = 300.0
"""Seconds for which an open turn waits for a database that stopped answering."""

_OPENING = 5.0
"""Seconds for which a command waits for a database server that does not answer."""


class Invocation:
    """The options that every command shares, and the configuration and database they lead to."""

    def __init__(self) -> None:
        self.database = ""
        self.server = ""
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
        server = self._used_server()
        if not server:
            prepare_folder(config)
        connection = await connect(
            server or config.address,
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

    def _used_server(self) -> str:
        """The server whose conversations this command uses; empty for the database here.

        Commands that work on files of this machine use no configured server. Raises `SapwoodError`
        if such a command was given one.
        """
        import click

        from sapwood.config.database_address import is_server
        from sapwood.core.errors import SapwoodError

        context = click.get_current_context(silent=True)
        given = None if context is None else context.find_root().invoked_subcommand
        name = given or "open"
        if name not in _OVER_SERVER:
            if self.server:
                raise SapwoodError(
                    f"sapwood {name} only works on the server's own machine. Run it there, without "
                    "--server."
                )
            return ""
        if self.database and not self.server:
            return ""
        server = self.server or self.config.server
        if server and not is_server(server):
            raise SapwoodError("A server address must start with https:// or http://.")
        return server

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
                (
                    f"{agent} has work to do. If no worker is running, type: sapwood run --agent "
                    f"{agent}"
                ),
                err=True,
            )
