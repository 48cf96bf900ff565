"""The request to stop a command: by Ctrl-C, by SIGTERM, or after a time limit."""

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

from sapwood.cli.exit_codes import Exit


class StopRequest:
    """Whether a command has to stop, with exit code and reason. Only the first request counts."""

    def __init__(self) -> None:
        self.code: Exit | None = None
        self.reason = ""
        self._requested = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def request(self, code: Exit, reason: str) -> None:
        """Requests the stop, unless it was requested before."""
        if self.code is None:
            self.code, self.reason = code, reason
            self._requested.set()

    def request_after(self, seconds: float, passed: float = 0.0) -> None:
        """Requests the stop after so many seconds, of which some have passed."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(
            max(0.0, seconds - passed), self.request, Exit.TIMED_OUT, f"after {seconds:g} seconds"
        )

    def cancel_timer(self) -> None:
        """Cancels the time limit."""
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self) -> None:
        """Returns when the stop is requested."""
        await self._requested.wait()


@contextmanager
def stop_on_signals() -> Generator[StopRequest]:
    """Yields a request that the first Ctrl-C or SIGTERM sets. The second one exits at once.

    Exiting at once loses nothing that was acknowledged: the log holds it.
    """
    loop, stop = asyncio.get_running_loop(), StopRequest()

    def interrupted() -> None:
        if stop.code is not None:
            _exit_at_once()
        if sys.stderr.isatty():
            click.echo("\nInterrupting. Press Ctrl-C again to exit immediately.", err=True)
        stop.request(Exit.INTERRUPTED, "by the user")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted)
    try:
        yield stop
    finally:
        stop.cancel_timer()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _exit_at_once() -> None:
    os._exit(Exit.INTERRUPTED)
