"""`sapwood diff`: what differs between two contexts."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT, MARK
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(
    examples=[
        "sapwood diff demo START",
        "sapwood diff demo START GOOD",
        "sapwood diff demo 12 40",
    ]
)
@click.argument("agent", type=AGENT)
@click.argument("left", type=MARK)
@click.argument("right", type=MARK, required=False)
@click.pass_obj
def command(invocation: Invocation, agent: str, left: str, right: str | None) -> Exit:
    """Show what differs between two contexts.

    LEFT and RIGHT are marks, or versions of the log; without RIGHT, LEFT is compared with now.
    Turns that only the left shows are behind a minus, those of the right behind a plus. Ends with 1
    when they differ.
    """
    return invocation.run(lambda: _diff(invocation, agent, left, right))


async def _diff(invocation: Invocation, typed: str, left: str, right: str | None) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.display.comparison import comparison_lines

    async with invocation.connected() as held:
        service = offline_service(held, invocation.config)
        compared = await service.compare(await find(held, typed), left, right)
    print_lines(comparison_lines(compared, columns()))
    return Exit.OK if compared.diff.same else Exit.FAILED
