"""`sapwood replay`: what the model was sent at a call."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

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
    from sapwood.cli.display.events import event_line
    from sapwood.cli.helping import columns
    from sapwood.conversation.agent_lookup import find
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
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.display.request import request_lines
    from sapwood.cli.looking import print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import SapwoodError

    async with invocation.connected() as held:
        agent = await find(held, typed)
        service = offline_service(held, invocation.config)
        answer = await service.replay(agent, version)
    if (seen := answer.replayed) is None:
        raise SapwoodError(answer.message)
    verdict = "matches" if seen.matches else "DOES NOT MATCH"
    if as_json:
        checked = {"ref": str(seen.ref), "hash": seen.called.hash, "matches": seen.matches}
        click.echo(json_line({**checked, "request": seen.request}))
    else:
        print_lines(request_lines(seen.request))
        click.echo(f"\n{seen.ref} to {seen.called.model}: the hash {verdict}.")
    return Exit.OK if seen.matches else Exit.FAILED
