"""`sapwood send`, `interrupt` and `kill`: one command to one agent."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=['sapwood send demo "The build is red."', "git log -3 | sapwood send demo -"])
@click.argument("agent", type=AGENT)
@click.argument("message", nargs=-1, required=True)
@in_event_loop
async def send_command(invocation: Invocation, agent: str, message: tuple[str, ...]) -> None:
    """Send mail to an agent.

    Mail waits until the agent reads it. Agents treat it as information, not as an instruction: to
    give an agent a task, use sapwood run. With -, reads the message from stdin.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import file_text
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    text = file_text("-") if message == ("-",) else " ".join(message)
    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(
            service, None, "send", f"{await find(connection, agent)} {text}"
        )
        click.echo(answer.message)


@subcommand(examples=["sapwood interrupt demo", 'sapwood interrupt demo --reason "wrong branch"'])
@click.argument("agent", type=AGENT)
@click.option(
    "--reason", default="by the user", metavar="TEXT", help="Reason to record in the log."
)
@in_event_loop
async def interrupt_command(invocation: Invocation, agent: str, reason: str) -> None:
    """Stop an agent's open turn and keep the partial reply.

    Works no matter which process runs the turn, even if none does.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await service.interrupt(await find(connection, agent), reason)
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        click.echo(answer.message)


@subcommand(examples=["sapwood kill demo"])
@click.argument("agent", type=AGENT)
@in_event_loop
async def kill_command(invocation: Invocation, agent: str) -> None:
    """End an agent and all its descendants.

    Interrupts their open turns, whichever process runs them. Their logs are kept: you can read,
    search and fork them.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(service, None, "kill", await find(connection, agent))
        click.echo(answer.message)


COMMANDS = {
    "send": send_command,
    "interrupt": interrupt_command,
    "kill": kill_command,
}
