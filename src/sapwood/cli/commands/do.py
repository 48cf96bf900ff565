"""`sapwood do`: runs slash commands without a model."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from sapwood.conversation.script import Script


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
@in_event_loop
async def command(invocation: Invocation, agent: str, lines: tuple[str, ...]) -> Exit:
    """Run slash commands on an agent, such as /mark X.

    Each COMMAND is one argument, so quote commands that contain spaces. They run in order and stop
    at the first one that is refused. No model is called. To send text to a model, use sapwood run.
    A model that runs this through its shell tool can use only the commands open to models.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.run.run_output import TextOutput
    from sapwood.cli.run.script_player import ScriptPlayer
    from sapwood.cli.tool_call_origin import is_in_tool_call
    from sapwood.conversation.agent_lookup import find

    script = _parsed("\n".join(lines), agent)
    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        by_model = is_in_tool_call()
        player = ScriptPlayer(
            service, await find(connection, agent), TextOutput(notes=False), by_model=by_model
        )
        result = await player.play(script)
    return result.exit


def _parsed(submission: str, agent: str) -> "Script":
    from sapwood.conversation.script import has_prompt, parse
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal

    script = parse(submission)
    if isinstance(script, Refusal):
        raise RefusedError(script)
    if has_prompt(script) or not script:
        raise click.UsageError(
            "sapwood do runs slash commands that need no model, such as /mark X. "
            f"To send text to a model, type: sapwood run --agent {agent} -p TEXT"
        )
    return script
