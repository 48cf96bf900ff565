"""`sapwood search`: searches all conversations."""

import sys
import time
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sapwood.core.log_values import SearchHit

_PROGRESS_SECONDS = 1.0


@subcommand(
    examples=[
        "sapwood search how did we fix the login timeout",
        "sapwood search '\"token refresh\" tool:shell after:2026-05-01'",
        "sapwood search leak --agent demo -n 5",
        "sapwood search --sessions flaky test",
    ]
)
@click.argument("words", nargs=-1, required=True)
@click.option("--agent", "agents", type=AGENT, multiple=True, help="Only this agent; repeatable.")
@click.option(
    "--sessions",
    is_flag=True,
    help="Search the sessions of all agent programs on this machine, also those not imported.",
)
@click.option("-n", "--limit", default=20, show_default=True, type=WholeNumber(1), metavar="N")
@json_option()
@click.pass_obj
def command(
    invocation: Invocation,
    words: tuple[str, ...],
    agents: tuple[str, ...],
    sessions: bool,
    limit: int,
    as_json: bool,
) -> Exit:
    """Search all conversations.

    Ask a question, or give words: finds turns that contain any of them, best match first. A phrase
    in quotes must match exactly. Searches all agents and all messages, including those no
    longer in any model's context. The exit code is 1 if nothing is found.

    Filters: agent:NAME file:PATH tool:NAME before:DATE after:DATE is:decision
    """
    query = " ".join(words)
    if sessions:
        return _print_hits(_search_sessions(query, limit), as_json)
    return invocation.run(lambda: _search(invocation, query, agents, limit, as_json))


async def _search(
    invocation: Invocation, query: str, typed: tuple[str, ...], limit: int, as_json: bool
) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as connection:
        among = [await find(connection, each) for each in typed] or None
        service = offline_service(connection, invocation.config)
        hits = (await service.search(query, agents=among, limit=limit)).hits
    return _print_hits(hits, as_json)


def _search_sessions(query: str, limit: int) -> "Sequence[SearchHit]":
    """Searches transcripts. After a second, shows on standard error how many were read."""
    from sapwood.conversation.transcript_search import search_transcripts

    began, shown = time.monotonic(), False

    def progress(read: int, total: int) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - began > _PROGRESS_SECONDS:
            shown = True
            click.echo(f"\rSearching session {read:,} of {total:,}", err=True, nl=False)

    hits = search_transcripts(query, limit=limit, progress=progress)
    if shown:
        click.echo(err=True)
    return hits


def _print_hits(hits: "Sequence[SearchHit]", as_json: bool) -> Exit:
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.answer_text import hit_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.display.json_values import hit_value

    if as_json:
        print_lines(json_line(hit_value(hit)) for hit in hits)
    elif hits:
        print_lines(hit_lines(hits, columns()))
    else:
        click.echo("Nothing was found.", err=True)
    return Exit.OK if hits else Exit.FAILED
