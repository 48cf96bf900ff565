"""`sapwood diff`: compares two contexts."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT, MARK


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
    """Compare two contexts.

    LEFT and RIGHT are marks or log versions. Without RIGHT, LEFT is compared with the current
    context. A minus marks turns that only LEFT has, a plus those that only RIGHT has. The exit code
    is 1 if they differ.
    """
    return invocation.run(lambda: _diff(invocation, agent, left, right))


async def _diff(invocation: Invocation, typed: str, left: str, right: str | None) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.display.timeline_text import comparison_lines

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        compared = await service.compare(await find(connection, typed), left, right)
    print_lines(comparison_lines(compared, columns()))
    return Exit.OK if compared.diff.same else Exit.FAILED
