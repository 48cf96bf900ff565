"""`sapwood replay`: what the model was sent at a call."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.core.ids import AgentId

__all__ = ["command"]


@subcommand(
    examples=["sapwood replay demo", "sapwood replay demo --calls", "sapwood replay demo 17 --json"]
)
@click.argument("agent", type=AGENT)
@click.argument("version", type=Whole(1), required=False)
@click.option("--calls", is_flag=True, help="List the model calls instead.")
@json_option("Print the request as JSON, with its hash.")
@click.pass_obj
def command(
    invocation: Invocation, agent: str, version: int | None, calls: bool, as_json: bool
) -> Exit:
    """Show what the model was sent at a call, checked by hash.

    The request is built again from the log, and its hash is compared with the one that was stored
    before the call. VERSION is the place of the call in the log, by default the last one. Ends
    with 1 when the hash does not match.
    """
    if calls:
        return invocation.run(lambda: _list(invocation, agent))
    return invocation.run(lambda: _replay(invocation, agent, version, as_json))


async def _list(invocation: Invocation, typed: str) -> Exit:
    from sapwood.app.finding import find
    from sapwood.cli.display.events import event_line
    from sapwood.cli.helping import columns
    from sapwood.core.events import ModelCalled

    async with invocation.connected() as held:
        agent = await find(held, typed)
        seen, width = 0, columns()
        while page := await held.log.read(held.space, agent, seen + 1, limit=500):
            for recorded in page:
                if isinstance(recorded.event, ModelCalled):
                    click.echo(event_line(recorded, width))
            seen = page[-1].version
    return Exit.OK


async def _replay(invocation: Invocation, typed: str, version: int | None, as_json: bool) -> Exit:
    from sapwood.app.finding import find
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.display.request import request_lines
    from sapwood.cli.looking import print_lines
    from sapwood.core.errors import SapwoodError
    from sapwood.runtime.replay import replay

    async with invocation.connected() as held:
        agent = await find(held, typed)
        at = version or await _last(held, agent)
        seen = await replay(held.log, held.space, agent, at)
    if seen is None:
        raise SapwoodError(
            f"Version {at} of {agent} is no model call. Type: sapwood replay {agent} --calls"
        )
    verdict = "matches" if seen.matches else "DOES NOT MATCH"
    if as_json:
        checked = {"ref": str(seen.ref), "hash": seen.called.hash, "matches": seen.matches}
        click.echo(json_line({**checked, "request": seen.request}))
    else:
        print_lines(request_lines(seen.request))
        click.echo(f"\n{seen.ref} to {seen.called.model}: the hash {verdict}.")
    return Exit.OK if seen.matches else Exit.FAILED


async def _last(held: "Connection", agent: "AgentId") -> int:
    from sapwood.core.errors import SapwoodError
    from sapwood.runtime.replay import last_call

    found = await last_call(held.log, held.space, agent)
    if found is None:
        raise SapwoodError(f"{agent} has not called a model yet.")
    return found
