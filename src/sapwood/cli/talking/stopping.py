"""How a run is stopped: by Ctrl-C, by SIGTERM, or because its time is up."""

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

from sapwood.cli.exits import Exit

__all__ = ["Stop", "listening"]


class Stop:
    """Whether the run is to stop, and why."""

    def __init__(self) -> None:
        self.code: Exit | None = None
        self.reason = ""
        self._asked = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, code: Exit, reason: str) -> None:
        """Has the run stop. Only the first reason counts."""
        if self.code is None:
            self.code, self.reason = code, reason
            self._asked.set()

    def ask_after(self, seconds: float) -> None:
        """Has the run stop when so many seconds are over."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(
            seconds, self.ask, Exit.TIMED_OUT, f"after {seconds:g} seconds"
        )

    def forget(self) -> None:
        """Nobody is going to stop: the clock need not run on."""
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self) -> None:
        """Returns when somebody asked."""
        await self._asked.wait()


@contextmanager
def listening() -> Generator[Stop]:
    """Listens to signals.

    The first Ctrl-C stops the run and keeps what is there, the second leaves at once: the log
    holds all that was acknowledged, whenever that is.
    """
    loop, stop = asyncio.get_running_loop(), Stop()

    def interrupted() -> None:
        if stop.code is not None:
            _leave()
        if sys.stderr.isatty():
            click.echo("\nInterrupting. Ctrl-C again leaves at once.", err=True)
        stop.ask(Exit.INTERRUPTED, "by the user")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted)
    try:
        yield stop
    finally:
        stop.forget()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _leave() -> None:
    os._exit(Exit.INTERRUPTED)
