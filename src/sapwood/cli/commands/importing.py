"""`sapwood import`: conversations of other programs become agents."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sapwood.app.connection import Connection
    from sapwood.app.importing import Imported, Importer
    from sapwood.cli.progress import Progress
    from sapwood.cli.talking.stopping import Stop
    from sapwood.sources import Found

__all__ = ["command"]

_FOLLOW_SECONDS = 1.0
_UNITS = {"d": 86_400, "h": 3_600, "m": 60}


@subcommand(
    examples=[
        "sapwood import",
        "sapwood import . --since 7d",
        "sapwood import ~/.codex/archived_sessions",
        "sapwood import --claude-code --follow",
    ]
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--claude-code", is_flag=True, help="Only those of Claude Code.")
@click.option("--codex", is_flag=True, help="Only those of Codex.")
@click.option("--gemini", is_flag=True, help="Only those of Gemini CLI.")
@click.option("--since", metavar="WHEN", help="Only those used since: 7d, 12h or 2026-11-14.")
@click.option("--follow", is_flag=True, help="Go on as they grow, until Ctrl-C.")
@json_option("Print what became of each transcript, as JSON lines.")
@click.pass_obj
def command(
    invocation: Invocation,
    paths: tuple[str, ...],
    claude_code: bool,
    codex: bool,
    gemini: bool,
    since: str | None,
    follow: bool,
    as_json: bool,
) -> Exit:
    """Import conversations of Claude Code, Codex and Gemini CLI.

    Each becomes an agent that the other commands work on, with the same id every time, so that
    importing again only adds what is new. A PATH is a transcript, or a folder whose sessions to
    take; without one, all of them. Transcripts are read and never changed.
    """
    chosen = {"claude-code": claude_code, "codex": codex, "gemini": gemini}
    sources = frozenset(name for name, wanted in chosen.items() if wanted)
    earliest = _moment(since)
    return invocation.run(lambda: _import(invocation, paths, sources, earliest, follow, as_json))


async def _import(
    invocation: Invocation,
    paths: tuple[str, ...],
    sources: frozenset[str],
    since: int,
    follow: bool,
    as_json: bool,
) -> Exit:
    from pathlib import Path

    from sapwood.app.collecting import collect
    from sapwood.app.importing import Importer
    from sapwood.cli.talking.stopping import listening
    from sapwood.sources import homes_of

    homes = homes_of()

    def look() -> "list[Found]":
        return collect([Path(path).expanduser() for path in paths], homes, sources, since)

    found = await asyncio.to_thread(look)
    if not found and not follow:
        looked = ", ".join(str(home) for home in (homes.claude, homes.codex, homes.gemini))
        click.echo(
            f"No such sessions were found; looked in {looked}. Type: sapwood import TRANSCRIPT",
            err=True,
        )
        return Exit.NO_SESSION
    with listening() as stop:
        async with invocation.connected() as held:
            run = _Run(Importer(held), stop, as_json)
            await run.bring(found)
            await run.index(held)
            if follow:
                await run.follow(look)
            await run.close()
    return stop.code or Exit.OK


class _Run:
    """Transcripts imported one after the other, with what became of them told as it should be."""

    def __init__(self, importer: "Importer", stop: "Stop", as_json: bool) -> None:
        self._importer = importer
        self._stop = stop
        self._as_json = as_json
        self._seen: dict[Path, int] = {}
        self._is_new = False

    async def bring(self, found: "Sequence[Found]", *, all_told: bool = True) -> None:
        """Imports what is new in each, until somebody stops it."""
        from sapwood.cli.progress import Progress

        done: list[Imported] = []
        with Progress(sum(each.size for each in found)) as progress:
            for number, each in enumerate(found, start=1):
                if self._stop.code is not None:
                    break
                progress.at(f"{number} of {len(found)}")
                if imported := await self._one(each, progress):
                    done.append(imported)
                await asyncio.sleep(0)
        self._tell(done, all_told)

    async def index(self, held: "Connection") -> None:
        """Has what is new be found by words, unless somebody does not want to wait for it."""
        if not self._is_new or self._stop.code is not None:
            return
        if sys.stderr.isatty():
            click.echo("Indexing for search. Ctrl-C leaves that for later.", err=True)
        searching = asyncio.ensure_future(held.log.search(held.space, "sapwood", limit=1))
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({searching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (searching, stopping):
            task.cancel()
        await asyncio.gather(searching, stopping, return_exceptions=True)

    async def follow(self, look: "Callable[[], Sequence[Found]]") -> None:
        """Looks for growth again and again until somebody stops it."""
        click.echo("Following. Ctrl-C stops.", err=True)
        while self._stop.code is None:
            found = await asyncio.to_thread(look)
            grown = [each for each in found if self._seen.get(each.path) != each.updated]
            if grown:
                await self.bring(grown, all_told=False)
            await asyncio.wait({asyncio.ensure_future(self._stop.wait())}, timeout=_FOLLOW_SECONDS)
        self._stop.code = None

    async def close(self) -> None:
        """Finishes what is under way."""
        await self._importer.close()

    async def _one(self, found: "Found", progress: "Progress") -> "Imported | None":
        from sapwood.sources import NotATranscript

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

    def _tell(self, done: "list[Imported]", all_told: bool) -> None:
        from sapwood.cli.display.jsons import json_line

        new = [each for each in done if each.turns or each.compactions]
        self._is_new = self._is_new or bool(new)
        if self._as_json:
            for each in done if all_told else new:
                click.echo(json_line(each))
        elif new or all_told:
            click.echo(_summary(done, new))


def _summary(done: "list[Imported]", new: "list[Imported]") -> str:
    old = len(done) - len(new)
    known = f" {old} had nothing new." if old else ""
    if not new:
        return f"Nothing to import.{known}"
    turns = _number(sum(each.turns for each in new), "turn")
    compactions = _number(sum(each.compactions for each in new), "compaction")
    of = _number(len(new), "conversation")
    return f"Imported {turns} and {compactions} of {of}.{known} sapwood agents lists them."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _moment(since: str | None) -> int:
    """A moment in microseconds since 1970: a date, or how long ago."""
    from datetime import UTC, datetime

    from sapwood.display.times import now

    if since is None:
        return 0
    number, unit = since[:-1], since[-1:]
    if number.isdigit() and len(number) < 6 and unit in _UNITS:
        return now() - int(number) * _UNITS[unit] * 1_000_000
    try:
        when = datetime.fromisoformat(since)
    except ValueError:
        raise click.UsageError("--since takes 7d, 12h, 30m or a date such as 2026-11-14.") from None
    return int(when.astimezone(UTC).timestamp() * 1_000_000)
