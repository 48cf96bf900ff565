"""`sapwood acp`: serves conversations to an editor."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.invocation import IN_TURN, Invocation


@subcommand(examples=["sapwood acp", "sapwood acp --with claude-code"])
@click.option(
    "-m",
    "--model",
    "--with",
    "model",
    default="",
    metavar="NAME",
    help="Model for new sessions, or claude-code or codex.",
)
@in_event_loop
async def command(invocation: Invocation, model: str) -> None:
    """Serve conversations to an editor over the Agent Client Protocol.

    An editor such as Zed starts this command and talks to it over stdin and stdout. Its sessions
    are Sapwood conversations: slash commands work in the editor, and you can open the same
    conversation in the terminal with sapwood open. To add it to an editor, set the command to
    sapwood and the argument to acp.
    """
    from typing import cast

    from acp import Agent, run_agent

    from sapwood.config.api_keys import load_keys
    from sapwood_acp.acp_agent import AcpAgent

    async with invocation.connected(patience=IN_TURN) as connection:
        agent = AcpAgent(connection, invocation.config, load_keys(), model)
        try:
            # What it lacks, such as logging in, is answered as an unknown method.
            await run_agent(cast("Agent", agent), use_unstable_protocol=True)
        finally:
            await agent.close()
