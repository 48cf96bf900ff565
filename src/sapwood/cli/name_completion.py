"""Shell completion of agents and marks. Reads the database, prints nothing, creates nothing."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sapwood.app.connection import Connection
    from sapwood.core.command_table import ArgumentKind

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # which has no type arguments in older versions of click


Item = tuple[str, str]


class _NameType(_TextType):
    """The type of an argument that is the name of an agent, or of a mark of that agent."""

    def __init__(self, kind: "ArgumentKind") -> None:
        self.name = kind
        self._kind: ArgumentKind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        async def find(connection: "Connection") -> list[Item]:
            from sapwood.conversation.completion import completions_of_kind

            typed = str(ctx.params.get("agent") or "")
            return list(await completions_of_kind(connection, self._kind, typed))

        return _completion_items(ctx, incomplete, find)


AGENT = _NameType("agent")
"""An agent, given by its id, the start of its id, or its name."""

MARK = _NameType("mark")
"""A mark of the agent that is given before it."""


def _completion_items(
    ctx: click.Context, incomplete: str, find: "Callable[[Connection], Awaitable[list[Item]]]"
) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    try:
        found = _names(ctx.ensure_object(Invocation), find)
    except Exception:  # an error message would appear in the command line of the user
        return []
    return [
        CompletionItem(value, help=help or None)
        for value, help in found
        if value.startswith(incomplete)
    ]


def _names(
    invocation: Invocation, find: "Callable[[Connection], Awaitable[list[Item]]]"
) -> list[Item]:
    import asyncio

    from sapwood.context_actions.session_finder import database_exists

    if not database_exists(invocation.config):
        return []

    async def find_names() -> list[Item]:
        async with invocation.connected(opening=1.0) as connection:
            return await find(connection)

    return asyncio.run(find_names())
