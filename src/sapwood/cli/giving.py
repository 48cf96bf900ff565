"""Giving one command to an agent from a shell, and telling who has to act on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from sapwood.app.connection import Connection
from sapwood.app.waking import wake_elsewhere
from sapwood.cli.invocation import Invocation
from sapwood.core.commands import Command
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.log import Append
from sapwood.core.refusals import Refusal
from sapwood.runtime.fresh import given
from sapwood.runtime.scheduling import woken_by

__all__ = ["give", "giving"]


async def give(connection: Connection, command: Command) -> None:
    """Gives the command and prints the answer."""
    answer = await connection.dispatcher.dispatch(command, given())
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
    click.echo(answer.says)


@asynccontextmanager
async def giving(invocation: Invocation) -> AsyncGenerator[Connection]:
    """The database, open for commands. Whoever has work to do after them is woken elsewhere."""
    woken: dict[AgentId, str] = {}

    def committed(appends: tuple[Append, ...]) -> None:
        for append in appends:
            woken.update(dict.fromkeys(woken_by(append), append.facts.model))

    async with invocation.connected() as connection:
        connection.dispatcher.on_commit(committed)
        yield connection
        working = [agent for agent in woken if await _is_working(connection, agent)]
    if working:
        await wake_elsewhere(invocation.config, {agent: woken[agent] for agent in working})
        for agent in working:
            click.echo(
                f"{agent} has work to do. Where no worker runs, type: sapwood run --agent {agent}",
                err=True,
            )


async def _is_working(connection: Connection, agent: AgentId) -> bool:
    facts = await connection.log.facts(connection.space, agent)
    return facts is not None and facts.working
