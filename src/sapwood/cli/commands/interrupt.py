"""`sapwood interrupt`: an open turn, stopped from outside."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood interrupt demo", 'sapwood interrupt demo --reason "wrong branch"'])
@click.argument("agent", type=AGENT)
@click.option("--reason", default="by the user", metavar="TEXT", help="What the log will say.")
@click.pass_obj
def command(invocation: Invocation, agent: str, reason: str) -> None:
    """Stop an agent's open turn and keep what is there.

    It does not matter which process runs the turn, or whether any does.
    """
    invocation.run(lambda: _interrupt(invocation, agent, reason))


async def _interrupt(invocation: Invocation, typed: str, reason: str) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.giving import giving
    from sapwood.cli.typed import clean
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal

    async with giving(invocation) as held:
        service = offline_service(held, invocation.config)
        answer = await service.interrupt(await find(held, typed), clean(reason))
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        click.echo(answer.message)
