"""Asks a person to log in with a browser: opens it, prints the address, reads a pasted address."""

import asyncio
import os
import sys
from typing import Protocol

import click

from sapwood.core.errors import SapwoodError

_CHUNK = 65_536


class PastedAddress(Protocol):
    """Takes the address where the browser ended. Raises `SapwoodError` if it is a wrong one."""

    def take(self, address: str) -> None: ...


class LoginPrompt:
    """The prompt for the login to one server."""

    def __init__(self, server: str, *, opens_browser: bool) -> None:
        self._server = server
        self._opens_browser = opens_browser

    async def ask(self, address: str, callback: PastedAddress) -> None:
        """Shows the address. Returns when an address was pasted, or at once if nobody can."""
        click.echo(f"To log in to {self._server}, open this address in a browser:\n\n{address}\n")
        if self._opens_browser:
            await asyncio.to_thread(_open_browser, address)
        if not _can_paste(self._opens_browser):
            return
        click.echo("If the browser runs on another machine, paste the address where it ends:")
        await _read_address(callback)


def _can_paste(opens_browser: bool) -> bool:
    if sys.stdin is None or sys.stdin.closed:
        return False
    return not opens_browser or sys.stdin.isatty()


async def _read_address(callback: PastedAddress) -> None:
    """Reads lines until one is the answer. Raises `SapwoodError` if the input ends before."""
    lines, problem = TypedLines(), ""
    while (line := await lines.next()) is not None:
        if not line.strip():
            continue
        try:
            callback.take(line)
        except SapwoodError as error:
            problem = str(error)
            click.echo(f"{problem} Paste the whole address that the browser shows.", err=True)
        else:
            return
    if problem:
        raise SapwoodError(f"{problem} Nothing was stored.")


class TypedLines:
    """Lines of stdin, read without holding up the event loop."""

    def __init__(self) -> None:
        self._read = b""
        self._is_at_end = False

    async def next(self) -> str | None:
        """The next line; None at the end."""
        while b"\n" not in self._read and not self._is_at_end:
            data = await self._data()
            self._read += data
            self._is_at_end = not data
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace") if line or not self._is_at_end else None

    async def _data(self) -> bytes:
        try:
            descriptor = sys.stdin.fileno()
        except OSError:  # not a file
            return sys.stdin.buffer.read()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        try:
            loop.add_reader(descriptor, ready.set)
        except OSError:  # a file on a disk is always ready
            return os.read(descriptor, _CHUNK)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
        return os.read(descriptor, _CHUNK)


def _open_browser(address: str) -> None:
    """Opens the browser of the person; none that would take over this terminal."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if type(browser) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        return
    browser.open(address)
