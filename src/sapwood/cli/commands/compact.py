"""`sapwood compact`: a checked summary in place of the history."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

__all__ = ["command"]


@subcommand(examples=["sapwood compact demo", "sapwood compact demo --keep 2"])
@click.argument("agent", type=AGENT)
@click.option(
    "--keep",
    default=0,
    type=Whole(0),
    metavar="N",
    help="Leave the last N turns as they are.",
)
@click.pass_obj
def command(invocation: Invocation, agent: str, keep: int) -> None:
    """Put a checked summary in place of the history.

    The agent's own model writes it; it is checked against what the log knows, and written again
    once if too much is missing. If anything fails, nothing is changed. sapwood do AGENT /undo
    takes it back.
    """
    invocation.run(lambda: _compact(invocation, agent, keep))


async def _compact(invocation: Invocation, typed: str, keep: int) -> None:
    from sapwood.app.assembling import assemble, local_engine
    from sapwood.app.choosing import require_model
    from sapwood.app.conversation_service import conversation_service
    from sapwood.app.keys import load_keys
    from sapwood.cli.giving import asked
    from sapwood.conversation.agent_lookup import find

    keys = load_keys()
    async with invocation.connected() as held:
        agent = await find(held, typed)
        state = (await held.dispatcher.open(agent)).state
        require_model(state.settings.model, invocation.config, keys)
        running = assemble(held, invocation.config, keys, engine=local_engine())
        config = invocation.config
        service = conversation_service(held, config, keys, compact=running.compact)
        try:
            answer = await asked(service, agent, "compact", f"--keep {keep}")
        finally:
            await running.close()
    click.echo(answer.message)
