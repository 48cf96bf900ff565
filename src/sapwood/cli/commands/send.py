"""`sapwood send`: sends mail to an agent."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=['sapwood send demo "The build is red."', "git log -3 | sapwood send demo -"])
@click.argument("agent", type=AGENT)
@click.argument("message", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, agent: str, message: tuple[str, ...]) -> None:
    """Send mail to an agent.

    Mail waits until the agent reads it. Agents treat it as information, not as an instruction: to
    give an agent a task, use sapwood run. With -, reads the message from stdin.
    """
    invocation.run(lambda: _send(invocation, agent, " ".join(message)))


async def _send(invocation: Invocation, typed: str, message: str) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import file_text
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    text = file_text("-") if message == "-" else message
    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(
            service, None, "send", f"{await find(connection, typed)} {text}"
        )
        click.echo(answer.message)
