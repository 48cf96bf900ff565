"""`sapwood top`: spaces, workers, queues and cost of a database, live."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import Number, in_event_loop, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.app.operations_overview import Overview


_CLEAR = "\x1b[H\x1b[2J"


@subcommand(
    examples=[
        "sapwood top",
        "sapwood top --once --spaces 'acme-*'",
        "sapwood top --json | jq .spaces",
    ]
)
@click.option(
    "--once",
    is_flag=True,
    help="Print the tables once and exit. Implied when output is not a terminal.",
)
@click.option(
    "--every",
    type=Number(0.2),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to refresh.",
)
@click.option(
    "--window",
    type=Number(1.0),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="Count turns, tokens and cost over this many minutes.",
)
@click.option(
    "--spaces",
    multiple=True,
    metavar="PATTERN",
    help="Only these spaces, such as 'acme-*'; repeatable.",
)
@json_option()
@in_event_loop
async def command(
    invocation: Invocation,
    once: bool,
    every: float,
    window: float,
    spaces: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show spaces, workers, queues and cost.

    Lists the configured space and every space where an agent has work to do. OPEN counts agents
    with an open turn: RUN are being run by a worker, WAIT are queued, and ASK are waiting for
    approval. TURNS, FAILED, TOKENS and COST cover the last hour, or --window.
    """

    from sapwood.app.operations_overview import overview_of
    from sapwood.app.space_runners import SpacePattern
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.cli.run.stop_request import stop_on_signals

    live = not (once or as_json) and sys.stdout.isatty()

    covers = SpacePattern(spaces or ("*",)).covers
    address = invocation.config.address
    with stop_on_signals() as stop:
        async with invocation.connected() as connection:
            beats: dict[str, int] = {}
            while stop.code is None:
                seen = await overview_of(connection, address, covers, window * 60)
                if as_json:
                    print_lines([json_line(seen)])
                    return
                if live:
                    click.echo(_CLEAR, nl=False)
                print_lines(_lines(seen, columns(), beats))
                if not live:
                    return
                beats = {each.worker: each.beats for each in seen.workers}
                wait = asyncio.create_task(stop.wait())
                await asyncio.wait([wait], timeout=every)
                wait.cancel()


def _lines(seen: "Overview", width: int, before: dict[str, int]) -> list[str]:
    from sapwood.cli.output.agent_list import table
    from sapwood.core.token_count import Count, show
    from sapwood.display.quantities import money

    heads = ("SPACE", "OPEN", "RUN", "WAIT", "ASK", "TURNS", "FAILED", "TOKENS", "COST")
    rows = [
        (
            each.space,
            str(each.open),
            str(each.running),
            str(each.waiting),
            str(each.asking),
            str(each.turns),
            str(each.failed),
            show(Count(each.spent.input + each.spent.output, exact=True)),
            money(each.spent.cost) if each.spent.cost else "-",
        )
        for each in seen.spaces
        if not each.elsewhere
    ]
    gone = [each.elsewhere.partition(" Nothing was changed.")[0] for each in seen.spaces]
    workers = [
        (each.host, each.process, str(each.running), _heart(each.beats, before.get(each.worker)))
        for each in seen.workers
    ]
    lines = [*table(heads, rows, width), *filter(None, gone)]
    if not workers:
        return [*lines, "", "No worker is running. To start one, type: sapwood worker"]
    return [*lines, "", *table(("WORKER", "PROCESS", "RUN", "HEARTBEATS"), workers, width)]


def _heart(beats: int, before: int | None) -> str:
    return (
        str(beats)
        if before is None or beats != before
        else f"{beats} (none since the last refresh)"
    )
