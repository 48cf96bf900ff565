"""A connection to one space of a database: its log, its dispatcher and its token counters.

Imports a store only when an address names it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sapwood import redaction
from sapwood.app.worker_wakes import WorkerWakes
from sapwood.config.database_address import is_of_plugin
from sapwood.config.folders import pending_folder
from sapwood.core.errors import LogError
from sapwood.core.ids import Space, can_be_stored
from sapwood.core.log_values import Append
from sapwood.core.token_count import Counter
from sapwood.store.stores import StoreOptions, store_of
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log

if TYPE_CHECKING:
    from sapwood.app.agent_runner import AgentRunner
    from sapwood.conversation.call import Services
    from sapwood.conversation.service import ConversationService
    from sapwood.core.commands import Command
    from sapwood.core.refusals import Refusal
    from sapwood.workspace.space_folder import SpaceFolder


_SHORTEST_SECRET = 8
"""Characters. The masker finds no secret in a shorter text."""

_SETTLED = 3.0
"""Seconds for which the database must stay away, or answer, before it is said."""

_log = logging.getLogger("sapwood.database")


@runtime_checkable
class ServerLog(Protocol):
    """A log whose server carries out the commands and runs the agents."""

    @property
    def address(self) -> str:
        """The address of the server."""
        ...

    @property
    def space(self) -> Space:
        """The only space that can be used."""
        ...

    def dispatcher(self, space: Space, counter_for: Callable[[str], Counter]) -> Dispatcher:
        """Returns what sends commands to the server."""
        ...

    def service(self, services: "Services") -> "ConversationService":
        """Returns the conversation service of the server."""
        ...

    def runner(self, connection: "Connection") -> "AgentRunner":
        """Returns what watches and interrupts the agents of the server."""
        ...


class Connection:
    """One space of an open database. Every face works through a connection.

    `address` is the address of the database, if the log was opened from one. `owner` says whether
    `close` also closes the log. `secrets` are values to mask in all texts, in addition to
    everything that has the form of a secret. `wakes` wakes workers after each commit, for a process
    that does not drive agents itself. `server` is the log if it is that of a server of another
    machine, which carries out all commands. `folder` is the only folder in which agents of the
    space work; None if they may work in any. It is set before agents are run.
    """

    def __init__(
        self,
        log: Log,
        space: Space,
        *,
        owner: bool = True,
        outages: "OutageReporter | None" = None,
        address: str = "",
        secrets: Iterable[str] = (),
        wakes: WorkerWakes | None = None,
    ) -> None:
        self.log = log
        self.space = space
        self.outages = outages
        self.address = address
        self.wakes = wakes
        self._owner = owner
        self._secrets = tuple(secrets)
        self.server = log if isinstance(log, ServerLog) else None
        self.folder: SpaceFolder | None = None
        self.dispatcher = self._new_dispatcher()
        self.dispatcher.on_commit(self._committed)
        self._counters: dict[str, Counter] = {}

    def _new_dispatcher(self) -> Dispatcher:
        if self.server is None:
            return Dispatcher(
                self.log, self.space, self.counter_for, mask=self.masked, check=self._refused_path
            )
        return self.server.dispatcher(self.space, self.counter_for)

    def _refused_path(self, command: "Command") -> "Refusal | None":
        return None if self.folder is None else self.folder.refusal(command)

    def counter_for(self, model: str) -> Counter:
        """Returns the best token counter for a model."""
        counter = self._counters.get(model)
        if counter is None:
            from sapwood.tokens.counters import CachingCounter, counter_for

            counter = self._counters[model] = CachingCounter(counter_for(model))
        return counter

    def masked(self, text: str) -> str:
        """Returns the text with its secrets masked."""
        if len(text) < _SHORTEST_SECRET:
            return text
        return redaction.mask_secrets(text, self._secrets)

    def add_secrets(self, values: Iterable[str]) -> None:
        """Masks these values too from now on."""
        self._secrets = tuple(dict.fromkeys((*self._secrets, *values)))

    def with_space(self, space: str) -> "Connection":
        """Returns a connection to another space of the same log. It does not own the log.

        Raises `LogError` if the name cannot be stored, or if the log is that of a server.
        """
        if self.server is not None and space != self.space:
            raise LogError(
                f"This connection's token is for the space '{self.space}'. To use another space, "
                "create a token for it: sapwood token new NAME --space SPACE"
            )
        return Connection(
            self.log,
            _space(space),
            owner=False,
            outages=self.outages,
            address=self.address,
            secrets=self._secrets,
            wakes=self.wakes,
        )

    async def work_passed(self) -> None:
        """Returns when the workers were told of all work that this process left for them."""
        if self.wakes is not None:
            await self.wakes.passed()

    async def close(self) -> None:
        """Waits for commands that are running, then closes the log if this connection owns it."""
        await self.dispatcher.close()
        if self._owner:
            if self.wakes is not None:
                await self.wakes.close()
            await self.log.close()
            if self.outages:
                self.outages.close()

    def _committed(self, appends: tuple[Append, ...]) -> None:
        if self.wakes is not None:
            self.wakes.committed(self.space, appends)


class OutageReporter:
    """Logs a warning when the database or server stops answering, and one when it answers again.

    The log and the engine use the same database and report independently, from several threads.
    Each outage is logged once. A report counts if no opposite one follows within three seconds:
    a connection that broke and was replaced at once is no outage, and an outage is not over at the
    first answer. An instance belongs to the event loop in which it was created.
    """

    def __init__(self, what: str = "The database") -> None:
        self._what = what
        self._loop = asyncio.get_running_loop()
        self._is_away = False
        self._timer: asyncio.TimerHandle | None = None

    def report(self, problem: str) -> None:
        """Reports why the database did not answer, or "" if it did, from any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._reported, problem)

    def close(self) -> None:
        """Logs the end of an outage whose last report was positive, without waiting longer."""
        if self._timer is not None:
            self._timer.cancel()
            if self._is_away:
                self._end()

    def _reported(self, problem: str) -> None:
        is_news = bool(problem) != self._is_away
        if not is_news and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif is_news and self._timer is None:
            change = partial(self._begin, problem) if problem else self._end
            self._timer = self._loop.call_later(_SETTLED, change)

    def _begin(self, problem: str) -> None:
        self._timer = None
        self._is_away = True
        reason = problem.partition("\n")[0].rstrip(". ")
        _log.warning(
            "%s is not responding: %s. Work in progress resumes when it responds again.",
            self._what,
            reason,
        )

    def _end(self) -> None:
        self._timer = None
        self._is_away = False
        _log.warning("%s is back. Work in progress resumes.", self._what)


async def connect(
    address: str | Path | Log,
    space: str = "local",
    *,
    patience: float = 30.0,
    opening: float | None = None,
    secrets: Iterable[str] | None = None,
    reader: str = "",
    token: str = "",
) -> Connection:
    """Opens one space of a database, or of a server. An open log is used and not closed later.

    The address is `:memory:`, a path (an SQLite file, created if missing), `postgresql://…`, or
    what the store of a plug-in has.

    `patience` is the number of seconds to wait for a server that does not answer, `opening` the
    number of seconds to wait when it is opened. `secrets` are values to mask in all texts, by
    default the configured API keys. `reader` is the address of PostgreSQL for a login that sees one
    space only, by which spaces are then read. `token` is for a server, which has one space for each
    token. Raises `LogError` if the database cannot be opened.
    """
    name = _space(space)
    if not isinstance(address, str | Path):
        return Connection(address, name, owner=False, secrets=_masked_values(secrets))
    outages = OutageReporter("The server" if is_of_plugin(str(address)) else "The database")
    options = StoreOptions(patience, opening, outages.report, token, reader)
    log = await store_of(address).open(str(address), options)
    if isinstance(log, ServerLog):  # the server masks, and the token decides the space
        return Connection(log, _space(log.space), outages=outages, address=log.address)
    await _finish_erasures(log, str(address))
    known = _masked_values(secrets)
    connection = Connection(log, name, outages=outages, address=str(address), secrets=known)
    if pending_folder().is_dir():
        await _import_pending(connection)
    return connection


async def _import_pending(connection: Connection) -> None:
    """Imports sessions that were changed before they were imported. Logs a warning if it fails."""
    from sapwood.imports.importer import import_pending

    try:
        await import_pending(connection, connection.dispatcher)
    except (LogError, OSError) as error:
        _log.warning("Could not import a session that was changed: %s", error)


def _masked_values(secrets: Iterable[str] | None) -> tuple[str, ...]:
    return _configured_keys() if secrets is None else tuple(secrets)


async def _finish_erasures(log: Log, address: str) -> None:
    """Finishes erasures that a process could not finish. Logs a warning if that fails again."""
    from sapwood.lifecycle.erasable_log import ErasableLog

    if not isinstance(log, ErasableLog) or not await log.unfinished_erasures():
        return
    from sapwood.app.external_stores import external_stores
    from sapwood.lifecycle.erasure import resume_erasures

    try:
        await resume_erasures(log, external_stores(log, address))
    except (LogError, OSError) as error:
        _log.warning("Could not finish an interrupted erasure: %s", error)


def _configured_keys() -> tuple[str, ...]:
    """Returns the API keys of the user; none if the key file cannot be read."""
    from sapwood.config.api_keys import load_keys
    from sapwood.config.config_file import ConfigError

    try:
        return tuple(load_keys().values())
    except ConfigError:
        return ()


def _space(name: str) -> Space:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] # from outside
        raise LogError(f"The name of a space must be a string, not {type(name).__name__}.")
    plain = str.__str__(name)
    if not can_be_stored(plain):
        raise LogError(
            f"{plain!a} is not a valid name for a space. Nothing was opened. Choose another name."
        )
    return Space(plain)
