"""Giving one command to an agent from a shell, and telling who has to act on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from sapwood.app.connection import Connection
from sapwood.app.waking import given_work, wake_elsewhere
from sapwood.cli.invocation import Invocation
from sapwood.core.commands import Command
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import Refusal
from sapwood.runtime.fresh import given

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
    async with invocation.connected() as connection, given_work(connection) as working:
        yield connection
    await wake_elsewhere(invocation.config, working)
    for agent in working:
        click.echo(
            f"{agent} has work to do. Where no worker runs, type: sapwood run --agent {agent}",
            err=True,
        )
