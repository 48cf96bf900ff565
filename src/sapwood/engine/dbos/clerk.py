"""The clerk: one thread through which all our own SQL goes, many small wishes to a transaction.

Five hundred agents that are woken or done at once then cost a few commits and not a thousand.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from sapwood.engine.errors import EngineError

__all__ = ["Clerk", "Tell", "Wish"]

_T = TypeVar("_T")
Wish = Callable[[sa.Connection], _T]
"""A few statements inside a transaction of the clerk's. It may be run again, so it repeats well."""

Tell = Callable[[bool], None]
"""Told, from a thread, False whenever the database does not answer, and True when it does again."""

_log = logging.getLogger("sapwood.engine")

_MOST = 64
_PATIENCE = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class _Errand:
    """A wish, where it belongs in the order, and who waits for it."""

    def __init__(self, order: tuple[str, ...], wish: Wish[Any]) -> None:
        self.order = order
        self.wish = wish
        self.future: Future[Any] = Future()


class Clerk:
    """Carries out wishes in a thread of its own, in the order given for each agent."""

    def __init__(self, database: sa.Engine, tell: Tell | None = None) -> None:
        self._database = database
        self._tell = tell
        self._away = False
        self._closed = False
        self._errands: queue.SimpleQueue[_Errand | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="sapwood-engine-clerk", daemon=True)
        self._thread.start()

    async def do(self, wish: Wish[_T], *order: str) -> _T:
        """Carries out a wish and returns when it is committed.

        `order` names the row that the wish locks: all transactions lock rows in the same order, so
        no two wait for each other.
        """
        if self._closed:
            raise EngineError.closed()
        errand = _Errand(order, wish)
        self._errands.put(errand)
        return await asyncio.wrap_future(errand.future)

    async def close(self) -> None:
        """Ends once all wishes are carried out."""
        self._closed = True
        self._errands.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (errand := self._errands.get()) is not None:
            errands = [errand, *self._waiting()]
            wanted = [each for each in errands if each.future.set_running_or_notify_cancel()]
            wanted.sort(key=lambda each: each.order)
            self._carry_out(wanted)

    def _waiting(self) -> list[_Errand]:
        errands: list[_Errand] = []
        while len(errands) < _MOST:
            try:
                errand = self._errands.get_nowait()
            except queue.Empty:
                break
            if errand is None:
                self._errands.put(None)
                break
            errands.append(errand)
        return errands

    def _carry_out(self, errands: list[_Errand]) -> None:
        """A database that is away is waited for. A wish that fails takes no other with it."""
        pause, deadline = _FIRST_PAUSE, time.monotonic() + _PATIENCE
        while True:
            try:
                results = self._commit(errands)
                self._is_away(False)
                return _succeed(errands, results)
            except OperationalError as problem:
                self._is_away(True)
                if time.monotonic() > deadline:
                    away = f"The engine's database does not answer: {problem.orig}"
                    return _fail(errands, EngineError(away))
            except Exception as problem:
                if len(errands) == 1:
                    return _fail(errands, problem)
                for errand in errands:
                    self._carry_out([errand])
                return None
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _is_away(self, away: bool) -> None:
        if away != self._away:
            _log.info("The engine's database %s.", "does not answer" if away else "is back")
        if self._tell and (away or self._away):
            self._tell(not away)
        self._away = away

    def _commit(self, errands: list[_Errand]) -> list[Any]:
        with self._database.begin() as connection:
            return [errand.wish(connection) for errand in errands]


def _succeed(errands: list[_Errand], results: list[Any]) -> None:
    for errand, result in zip(errands, results, strict=True):
        errand.future.set_result(result)


def _fail(errands: list[_Errand], problem: Exception) -> None:
    for errand in errands:
        errand.future.set_exception(problem)
