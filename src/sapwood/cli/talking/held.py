"""A run from its first step to its last: agents started, a script played, everything at rest."""

from sapwood.app.assembling import assemble
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.keys import load_keys
from sapwood.cli.exits import Exit
from sapwood.cli.talking.showing import Show, Summary
from sapwood.cli.talking.starting import Wanted, choose_agent
from sapwood.cli.talking.stepping import OK, Ended
from sapwood.cli.talking.stopping import Stop
from sapwood.cli.talking.talk import Talk
from sapwood.conversation.script import Script
from sapwood.core.content import Usage
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId

__all__ = ["hold"]


async def hold(
    config: Config,
    connection: Connection,
    wanted: Wanted,
    script: Script | None,
    show: Show,
    stop: Stop,
) -> Exit:
    """Talks to the agent that is wanted. Without a script, its open turn goes on."""
    keys = load_keys()
    agent = await choose_agent(connection, config, keys, wanted)
    before = await _spent(connection, agent)
    running = assemble(connection, config, keys, allow=wanted.allow, root=agent)
    service = conversation_service(connection, config, keys, compact=running.compact)
    talk = Talk(running, agent, service, show, stop)
    try:
        await running.start()
        if wanted.seconds is not None:
            stop.ask_after(wanted.seconds)
        ended = await _held(talk, script)
    finally:
        await running.close()
    after = await _spent(connection, agent)
    show.end(Summary(talk.agent, ended.exit, _less(after, before), ended.problem))
    return ended.exit


async def _held(talk: Talk, script: Script | None) -> Ended:
    if script is not None:
        ended = await talk.play(script)
    elif await talk.has_open_turn():
        ended = await talk.resume()
    else:
        raise SapwoodError(
            f"{talk.agent} has no open turn to go on with. Give a prompt with -p, "
            "or a script on stdin."
        )
    return await talk.rest() if ended is OK else ended


async def _spent(connection: Connection, agent: AgentId) -> Usage:
    return (await connection.dispatcher.open(agent)).state.spent


def _less(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.input - before.input,
        after.output - before.output,
        after.cache_read - before.cache_read,
        after.cache_write - before.cache_write,
        after.cost - before.cost,
    )
