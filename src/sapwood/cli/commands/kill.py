"""`sapwood kill`: ends an agent and its descendants."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=["sapwood kill demo"])
@click.argument("agent", type=AGENT)
@click.pass_obj
def command(invocation: Invocation, agent: str) -> None:
    """End an agent and all its descendants.

    Interrupts their open turns, whichever process runs them. Their logs are kept: you can read,
    search and fork them.
    """
    invocation.run(lambda: _kill(invocation, agent))


async def _kill(invocation: Invocation, typed: str) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(service, None, "kill", await find(connection, typed))
        click.echo(answer.message)
