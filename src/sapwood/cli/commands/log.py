"""`sapwood log`: shows the events of an agent."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.core.events import Recorded
    from sapwood.core.ids import AgentId


_PAGE = 500


@subcommand(
    examples=[
        "sapwood log demo",
        "sapwood log demo -n 5 --kind turn.failed",
        "sapwood log demo --follow --json",
    ]
)
@click.argument("agent", type=AGENT)
@click.option("-n", "--last", type=WholeNumber(1), metavar="N", help="Only the last N events.")
@click.option("-k", "--kind", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("-f", "--follow", is_flag=True, help="Print new events until Ctrl-C.")
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

    Oldest first. Events are never removed, so the log is complete. Brackets show the tokens used by
    each model call and, at the end of a turn, by all its calls. To see an event in full, type:
    sapwood show AGENT:VERSION
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
    from sapwood.cli.console import columns
    from sapwood.cli.output.event_text import Spending, event_line, event_value, json_line
    from sapwood.conversation.agent_lookup import find

    width, spending = columns(), Spending()

    def show(recorded: "Recorded") -> None:
        used = spending.of(recorded)
        if not kinds or recorded.kind in kinds:
            value = event_value(recorded)
            click.echo(json_line(value) if as_json else event_line(recorded, width, used))

    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        seen = 0
        if last is not None:
            seen = await _before_last(connection, agent, last, kinds)
        while page := await connection.log.read(connection.space, agent, seen + 1, limit=_PAGE):
            for recorded in page:
                show(recorded)
            seen = page[-1].version
        if follow:
            async for recorded in connection.log.follow(connection.space, agent, seen):
                show(recorded)


async def _before_last(
    connection: "Connection", agent: "AgentId", last: int, kinds: frozenset[str]
) -> int:
    """Returns the version before the last `last` events of these kinds."""
    found, before = 0, None
    while page := await connection.log.read(
        connection.space, agent, 1, before, limit=max(last, _PAGE), backward=True
    ):
        for recorded in page:
            found += not kinds or recorded.kind in kinds
            if found == last:
                return recorded.version - 1
        before = page[-1].version - 1
        if not before:
            break
    return 0
