"""`sapwood replay`: shows the request of a model call."""

import sys

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(
    examples=["sapwood replay demo", "sapwood replay demo --calls", "sapwood replay demo 17 --json"]
)
@click.argument("agent", type=AGENT)
@click.argument("version", type=WholeNumber(1), required=False)
@click.option("--calls", is_flag=True, help="List the model calls.")
@json_option("Print the request as JSON, with its hash.")
@click.pass_obj
def command(
    invocation: Invocation, agent: str, version: int | None, calls: bool, as_json: bool
) -> Exit:
    """Show the exact request of a model call, verified by its hash.

    Rebuilds the request from the log and compares its hash with the one stored before the call.
    VERSION is the call's version in the log; the default is the last call. For a conversation
    imported from Claude Code, the request comes from the transcript, and VERSION is the request's
    number there. The exit code is 1 if a hash does not match.
    """
    if calls:
        return invocation.run(lambda: _list(invocation, agent))
    return invocation.run(lambda: _replay(invocation, agent, version, as_json))


async def _list(invocation: Invocation, typed: str) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns
    from sapwood.cli.output.event_text import event_line
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        service = offline_service(connection, invocation.config)
        width = columns()
        for recorded in reversed(await service.model_calls(agent, sys.maxsize)):
            click.echo(event_line(recorded, width))
    return Exit.OK


async def _replay(invocation: Invocation, typed: str, version: int | None, as_json: bool) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import print_lines
    from sapwood.cli.output.answer_text import request_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.erasure import ERASED
    from sapwood.core.errors import SapwoodError

    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        service = offline_service(connection, invocation.config)
        answer = await service.replay(agent, version)
    if (seen := answer.replayed) is None:
        raise SapwoodError(answer.message)
    verdict = "matches" if seen.matches else "DOES NOT MATCH"
    if not seen.matches and ERASED in str(seen.request):
        verdict += " (it contained mail or a quotation that was erased)"
    if as_json:
        checked = {"ref": str(seen.ref), "hash": seen.called.hash, "matches": seen.matches}
        click.echo(json_line({**checked, "request": seen.request}))
    else:
        print_lines(request_lines(seen.request))
        click.echo(f"\n{seen.ref} to {seen.called.model}: the hash {verdict}.")
    return Exit.OK if seen.matches else Exit.FAILED
