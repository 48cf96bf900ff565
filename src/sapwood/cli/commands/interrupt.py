"""`sapwood interrupt`: stops the open turn of an agent."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=["sapwood interrupt demo", 'sapwood interrupt demo --reason "wrong branch"'])
@click.argument("agent", type=AGENT)
@click.option(
    "--reason", default="by the user", metavar="TEXT", help="Reason to record in the log."
)
@click.pass_obj
def command(invocation: Invocation, agent: str, reason: str) -> None:
    """Stop an agent's open turn and keep the partial reply.

    Works no matter which process runs the turn, even if none does.
    """
    invocation.run(lambda: _interrupt(invocation, agent, reason))


async def _interrupt(invocation: Invocation, typed: str, reason: str) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await service.interrupt(await find(connection, typed), reason)
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        click.echo(answer.message)
