"""`sapwood import`: imports conversations of other programs as agents."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop, json_option, parse_since
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.core.plural import counted
from sapwood.programs.registry import programs_with

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sapwood.app.connection import Connection
    from sapwood.cli.console import Progress
    from sapwood.cli.run.stop_request import StopRequest
    from sapwood.imports.importer import Importer, ImportResult
    from sapwood.programs.transcripts.session_files import FoundSession


_FOLLOW_SECONDS = 1.0


def _program_options(command: "Callable[..., Exit]") -> "Callable[..., Exit]":
    """Adds an option for each program whose sessions can be imported."""
    for each in reversed(programs_with("sessions")):
        only = f"Only sessions of {each.title}."
        command = click.option(f"--{each.name}", is_flag=True, help=only)(command)
    return command


@subcommand(
    examples=[
        "sapwood import",
        "sapwood import . --since 7d",
        "sapwood import ~/.codex/archived_sessions",
        "sapwood import --claude-code --follow",
    ]
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@_program_options
@click.option("--since", metavar="WHEN", help="Only sessions used since: 7d, 12h or 2026-11-14.")
@click.option("--follow", is_flag=True, help="Keep importing new messages until Ctrl-C.")
@json_option("Print the result of each transcript as JSON lines.")
@in_event_loop
async def command(
    invocation: Invocation,
    paths: tuple[str, ...],
    since: str | None,
    follow: bool,
    as_json: bool,
    **chosen: bool,
) -> Exit:
    """Import sessions of agent programs, such as Claude Code.

    Each session becomes an agent that the other commands can use. It keeps the same id, so
    importing again adds only what is new. A PATH is a transcript or a project folder. Without a
    PATH, imports all sessions. Transcripts are never changed.
    """

    from pathlib import Path

    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.imports.importer import Importer, select_transcripts, session_folders

    names = (each.name for each in programs_with("sessions"))
    sources = frozenset(name for name in names if chosen.get(name.replace("-", "_")))
    earliest = parse_since(since)

    def find_sessions() -> "list[FoundSession]":
        named = [Path(path).expanduser() for path in paths]
        return select_transcripts(named, sources=sources, since=earliest)

    found = await asyncio.to_thread(find_sessions)
    if not found and not follow:
        searched = ", ".join(map(str, session_folders()))
        click.echo(
            f"No sessions were found in {searched}. Type: sapwood import TRANSCRIPT",
            err=True,
        )
        return Exit.NO_SESSION
    with stop_on_signals() as stop:
        async with invocation.connected() as connection:
            run = _ImportRun(Importer(connection), stop, as_json)
            await run.import_all(found)
            await run.index(connection)
            if follow:
                await run.follow(find_sessions)
            await run.close()
    return stop.code or Exit.OK


class _ImportRun:
    """Imports transcripts one after the other and prints the results."""

    def __init__(self, importer: "Importer", stop: "StopRequest", as_json: bool) -> None:
        self._importer = importer
        self._stop = stop
        self._as_json = as_json
        self._seen: dict[Path, int] = {}
        self._is_new = False

    async def import_all(self, found: "Sequence[FoundSession]", *, print_all: bool = True) -> None:
        """Imports what is new in each transcript, until a stop is requested."""
        from sapwood.cli.console import Progress

        done: list[ImportResult] = []
        with Progress(sum(each.size for each in found)) as progress:
            for number, each in enumerate(found, start=1):
                if self._stop.code is not None:
                    break
                progress.set_label(f"{number} of {len(found)}")
                if imported := await self._one(each, progress):
                    done.append(imported)
                await asyncio.sleep(0)
        self._print(done, print_all)

    async def index(self, connection: "Connection") -> None:
        """Indexes the new text for search by searching once. A stop request skips it."""
        if not self._is_new or self._stop.code is not None:
            return
        if sys.stderr.isatty():
            click.echo(
                "Indexing for search. Press Ctrl-C to postpone it until the first search.", err=True
            )
        searching = asyncio.ensure_future(
            connection.log.search(connection.space, "sapwood", limit=1)
        )
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({searching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (searching, stopping):
            task.cancel()
        await asyncio.gather(searching, stopping, return_exceptions=True)

    async def follow(self, find_sessions: "Callable[[], Sequence[FoundSession]]") -> None:
        """Imports new messages every second until a stop is requested."""
        click.echo("Following. Press Ctrl-C to stop.", err=True)
        while self._stop.code is None:
            found = await asyncio.to_thread(find_sessions)
            grown = [each for each in found if self._seen.get(each.path) != each.updated]
            if grown:
                await self.import_all(grown, print_all=False)
            await asyncio.wait({asyncio.ensure_future(self._stop.wait())}, timeout=_FOLLOW_SECONDS)
        self._stop.code = None

    async def close(self) -> None:
        """Waits for imports that are running."""
        await self._importer.close()

    async def _one(self, found: "FoundSession", progress: "Progress") -> "ImportResult | None":
        from sapwood.programs.transcripts.discovery import NotATranscript

        self._seen[found.path] = found.updated
        try:
            done = await self._importer.bring(found.path, found.source, progress.advance)
        except NotATranscript as problem:
            progress.clear()
            click.echo(str(problem), err=True)
            return None
        if done.problem:
            progress.clear()
            click.echo(f"{found.path}: {done.problem}", err=True)
        return done

    def _print(self, done: "list[ImportResult]", print_all: bool) -> None:
        from sapwood.cli.output.event_text import json_line

        new = [each for each in done if each.turns or each.compactions]
        self._is_new = self._is_new or bool(new)
        if self._as_json:
            for each in done if print_all else new:
                click.echo(json_line(each))
        elif new or print_all:
            click.echo(_summary(done, new))


def _summary(done: "list[ImportResult]", new: "list[ImportResult]") -> str:
    old = len(done) - len(new)
    known = f" {old} had nothing new." if old else ""
    if not new:
        return f"Nothing to import.{known}"
    turns = counted(sum(each.turns for each in new), "turn")
    compactions = counted(sum(each.compactions for each in new), "compaction")
    of = counted(len(new), "conversation")
    return (
        f"Imported {turns} and {compactions} from {of}.{known} To list them, type: sapwood agents"
    )
