"""Shell completion of agents, marks, settings and MCP servers. It prints and creates nothing.

Agents and marks are read from the database.
"""

import os
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


_LISTING = ("33", "63")
"""Values of COMP_TYPE with which bash lists completions, and inserts none but a common start."""


class _SettingType(_TextType):
    """The type of an argument that is the name of a setting."""

    name = "setting"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from sapwood.config.editor import known_settings

        named = [(each.name, each.help) for each in known_settings()]
        return _items([each for each in named if "NAME" not in each[0]], incomplete)


SETTING = _SettingType()
"""A setting of the configuration. Those with a name of the user's choice are not offered."""


class _ServerType(_TextType):
    """The type of an argument that is the name of a configured MCP server with a URL."""

    name = "server"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        try:
            servers = ctx.ensure_object(Invocation).config.servers
        except Exception:  # an error message would appear in the command line of the user
            return []
        return _items([(name, each.url) for name, each in servers.items() if each.url], incomplete)


SERVER = _ServerType()
"""A configured MCP server to which a person can log in."""


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
    try:
        found = _names(ctx.ensure_object(Invocation), find)
    except Exception:  # an error message would appear in the command line of the user
        return []
    return _items(found, incomplete)


def _items(found: list[Item], incomplete: str) -> "list[CompletionItem]":
    """What starts like this. Bash shows no help, so a list for it has the help in the words."""
    from click.shell_completion import CompletionItem

    fitting = [(value, help) for value, help in found if value.startswith(incomplete)]
    if os.environ.get("COMP_TYPE") in _LISTING and len(fitting) > 1:
        fitting = [(f"{value}  ({_plain(help)})" if help else value, "") for value, help in fitting]
    return [CompletionItem(value, help=help or None) for value, help in fitting]


def _plain(help: str) -> str:
    """A help without the characters that bash would replace."""
    return "".join(each for each in help if each not in "*?[]\\")


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
