"""`sapwood log`: an agent's events."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.core.events import Recorded
    from sapwood.core.ids import AgentId

__all__ = ["command"]

_PAGE = 500


@subcommand(
    examples=[
        "sapwood log demo",
        "sapwood log demo -n 5 --kind turn.failed",
        "sapwood log demo --follow --json",
    ]
)
@click.argument("agent", type=AGENT)
@click.option("-n", "--last", type=Whole(1), metavar="N", help="Only the last N events.")
@click.option("-k", "--kind", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("-f", "--follow", is_flag=True, help="Go on with new events until Ctrl-C.")
@json_option()
@click.pass_obj
def command(
    invocation: Invocation,
    agent: str,
    last: int | None,
    kind: tuple[str, ...],
    follow: bool,
    as_json: bool,
) -> None:
    """Show an agent's events.

    Oldest first. Nothing is ever taken out of a log, so this is all that happened. In brackets is
    what was used: by a model call, by all calls of a turn at its end. One event whole: sapwood show
    AGENT:VERSION.
    """
    invocation.run(lambda: _log(invocation, agent, last, frozenset(kind), follow, as_json))


async def _log(
    invocation: Invocation,
    typed: str,
    last: int | None,
    kinds: frozenset[str],
    follow: bool,
    as_json: bool,
) -> None:
    from sapwood.cli.display.events import event_line
    from sapwood.cli.display.jsons import event_value, json_line
    from sapwood.cli.display.spending import Spending
    from sapwood.cli.helping import columns
    from sapwood.conversation.agent_lookup import find

    width, spending = columns(), Spending()

    def show(recorded: "Recorded") -> None:
        used = spending.of(recorded)
        if not kinds or recorded.kind in kinds:
            value = event_value(recorded)
            click.echo(json_line(value) if as_json else event_line(recorded, width, used))

    async with invocation.connected() as held:
        agent = await find(held, typed)
        seen = 0
        if last is not None:
            seen = await _before_last(held, agent, last, kinds)
        while page := await held.log.read(held.space, agent, seen + 1, limit=_PAGE):
            for recorded in page:
                show(recorded)
            seen = page[-1].version
        if follow:
            async for recorded in held.log.follow(held.space, agent, seen):
                show(recorded)


async def _before_last(
    held: "Connection", agent: "AgentId", last: int, kinds: frozenset[str]
) -> int:
    """The version after which the last so many events of these kinds come."""
    found, before = 0, None
    while page := await held.log.read(
        held.space, agent, 1, before, limit=max(last, _PAGE), backward=True
    ):
        for recorded in page:
            found += not kinds or recorded.kind in kinds
            if found == last:
                return recorded.version - 1
        before = page[-1].version - 1
        if not before:
            break
    return 0
