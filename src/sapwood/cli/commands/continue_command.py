"""`sapwood continue`: continues a session of any program with another program or model."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(
    examples=[
        "sapwood continue 4cfa198d --with codex",
        "sapwood continue demo --with claude-code",
        "sapwood continue demo --with gpt-5",
    ]
)
@click.argument("session", type=AGENT)
@click.option(
    "--with",
    "model",
    required=True,
    metavar="NAME",
    help="claude-code, codex, or a model; claude-code:opus also picks the program's model.",
)
@click.option("--name", default="", metavar="NAME", help="Name for the new conversation.")
@in_event_loop
async def command(invocation: Invocation, session: str, model: str, name: str) -> None:
    """Continue a session in another program, or with another model.

    SESSION is an agent, the id of a session of any agent program, or the path of a transcript.
    Sapwood forks it; the original does not change. Claude Code, Codex, opencode or pi gets a new
    session with everything in view, including tool calls and results. Sapwood lists whatever cannot
    be carried over.
    """
    from sapwood.app.connection import connect
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.session_continuation import continue_session

    async with invocation.connected_for_commands() as connection:
        done = await continue_session(
            connection, connect, invocation.config, load_keys(), session, model, name=name
        )
    for line in done.lines:
        click.echo(line)
