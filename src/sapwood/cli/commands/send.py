"""`sapwood send`: mail to an agent."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=['sapwood send demo "The build is red."', "git log -3 | sapwood send demo -"])
@click.argument("agent", type=AGENT)
@click.argument("message", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, agent: str, message: tuple[str, ...]) -> None:
    """Send mail to an agent.

    Mail waits until the agent reads it, and never carries your authority: to tell an agent what to
    do, use sapwood run. With - the message is read from stdin.
    """
    invocation.run(lambda: _send(invocation, agent, " ".join(message)))


async def _send(invocation: Invocation, typed: str, message: str) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.giving import give, giving
    from sapwood.cli.typed import text_of
    from sapwood.core.commands import Send
    from sapwood.runtime.fresh import new_mail_id

    text = text_of("-") if message == "-" else message
    async with giving(invocation) as held:
        await give(held, Send(await find(held, typed), new_mail_id(), text))
