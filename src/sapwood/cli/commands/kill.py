"""`sapwood kill`: the end of an agent and its descendants."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood kill demo"])
@click.argument("agent", type=AGENT)
@click.pass_obj
def command(invocation: Invocation, agent: str) -> None:
    """End an agent and all its descendants.

    Open turns are interrupted, wherever they run. Logs stay: they can be read, searched and forked.
    """
    invocation.run(lambda: _kill(invocation, agent))


async def _kill(invocation: Invocation, typed: str) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.giving import asked, giving
    from sapwood.conversation.agent_lookup import find

    async with giving(invocation) as held:
        service = offline_service(held, invocation.config)
        answer = await asked(service, None, "kill", await find(held, typed))
        click.echo(answer.message)
