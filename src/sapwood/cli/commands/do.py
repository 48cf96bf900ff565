"""`sapwood do`: slash commands, without a model."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.core.slash import Script

__all__ = ["command"]


@subcommand(
    examples=[
        'sapwood do demo "/mark START"',
        'sapwood do demo "/clear 3" "/pin style Be brief."',
        'sapwood do demo "/rewind START"',
        "sapwood do demo /undo",
        "sapwood do demo /revert",
        "sapwood do demo /help",
    ]
)
@click.argument("agent", type=AGENT)
@click.argument("lines", metavar="COMMAND...", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, agent: str, lines: tuple[str, ...]) -> Exit:
    """Give an agent slash commands, such as /mark X.

    Each COMMAND is one line of a script, so quote those with spaces. They are carried out in order,
    up to the first that is refused. No model is asked; text for a model goes to sapwood run.
    """
    return invocation.run(lambda: _do(invocation, agent, "\n".join(lines)))


async def _do(invocation: Invocation, typed: str, submission: str) -> Exit:
    from sapwood.app.finding import find
    from sapwood.cli.giving import giving
    from sapwood.cli.helping import columns
    from sapwood.cli.talking.face import Face
    from sapwood.cli.talking.showing import TextShow
    from sapwood.cli.talking.stepping import Steps

    script = _parsed(submission)
    async with giving(invocation) as held:
        agent = await find(held, typed)
        face = Face(held, columns(), config=invocation.config)
        ended = await Steps(held, agent, face, TextShow(notes=False)).play(script)
    return ended.exit


def _parsed(submission: str) -> "Script":
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal
    from sapwood.core.slash import parse
    from sapwood.core.slash.chunks import has_prompt

    script = parse(submission)
    if isinstance(script, Refusal):
        raise RefusedError(script)
    if has_prompt(script) or not script:
        raise click.UsageError(
            "Only slash commands, such as /mark X, can be done without a model. "
            "For text, type: sapwood run --agent AGENT -p TEXT"
        )
    return script
