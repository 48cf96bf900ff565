"""Shell completion of agents and marks, from the database. Silent, and it never makes one."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sapwood.app.connection import Connection

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # which has no type arguments in older versions of click

__all__ = ["AGENT", "MARK"]

_MOST = 200

Item = tuple[str, str]


class _AgentType(_TextType):
    """An agent, by id, start of an id, or name."""

    name = "agent"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        async def find(connection: "Connection") -> list[Item]:
            agents = await connection.log.agents(connection.space, limit=_MOST)
            found: list[Item] = [(each.name, each.agent) for each in agents if _is_word(each.name)]
            found += [(each.agent, each.name) for each in agents]
            return found

        return _completed(ctx, incomplete, find)


class _MarkType(_TextType):
    """A mark of the agent that stands before it."""

    name = "mark"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        async def find(connection: "Connection") -> list[Item]:
            from sapwood.core.refusals import Refusal
            from sapwood.runtime.finding import find_agent
            from sapwood.runtime.opening import open_state

            typed = str(ctx.params.get("agent") or "")
            agent = await find_agent(connection.log, connection.space, typed)
            if isinstance(agent, Refusal):
                return []
            state = await open_state(connection.log, connection.space, agent)
            return [(mark.name, "") for mark in reversed(state.marks) if mark.name]

        return _completed(ctx, incomplete, find)


AGENT = _AgentType()
MARK = _MarkType()


def _completed(
    ctx: click.Context, incomplete: str, find: "Callable[[Connection], Awaitable[list[Item]]]"
) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    try:
        found = _found(ctx.ensure_object(Invocation), find)
    except Exception:  # whatever it is, it must not be printed into somebody's command line
        return []
    return [
        CompletionItem(value, help=help or None)
        for value, help in found
        if value.startswith(incomplete)
    ]


def _found(
    invocation: Invocation, find: "Callable[[Connection], Awaitable[list[Item]]]"
) -> list[Item]:
    import asyncio
    from pathlib import Path

    from sapwood.app.opening import is_postgres

    address = invocation.config.address
    if not is_postgres(address) and not Path(address).expanduser().is_file():
        return []

    async def look() -> list[Item]:
        async with invocation.connected(opening=1.0) as connection:
            return await find(connection)

    return asyncio.run(look())


def _is_word(name: str) -> bool:
    return bool(name) and not any(char.isspace() for char in name)
