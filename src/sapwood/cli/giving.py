"""Sends single commands to the conversation service and wakes the agents that have work then."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from sapwood.app.connection import Connection
from sapwood.app.waking import given_work, wake_elsewhere
from sapwood.cli.invocation import Invocation
from sapwood.conversation.answers import Answer
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal

__all__ = ["asked", "giving"]


async def asked(
    service: ConversationService, agent: AgentId | None, name: str, args: str = ""
) -> Answer:
    """The answer to a slash command. Raises `RefusedError`."""
    answer = await service.answer(agent, CommandStep(TABLE[name], args))
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
    return answer


@asynccontextmanager
async def giving(invocation: Invocation) -> AsyncGenerator[Connection]:
    """The database, open for commands. Agents with work to do after them are woken elsewhere."""
    async with invocation.connected() as connection, given_work(connection) as working:
        yield connection
    await wake_elsewhere(invocation.config, working)
    for agent in working:
        click.echo(
            f"{agent} has work to do. Where no worker runs, type: sapwood run --agent {agent}",
            err=True,
        )
