"""`sapwood context`, also installed as `context`: tends the context of a session."""

import os
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.command import Command, Commands
from sapwood.cli.completing import AGENT
from sapwood.cli.errands import action_commands, given_above, shared_options
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.app.gardening.errand import Errand

__all__ = ["command"]

_OVERVIEW = "overview"


class _Context(Commands):
    """A word that is no action is an agent or a session, whose overview is wanted."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return _OVERVIEW, overview, args


def _run(errand: "Errand", as_json: bool) -> Exit:
    invocation = click.get_current_context().find_object(Invocation)
    assert invocation is not None
    return invocation.run(lambda: _do(invocation, errand, as_json))


async def _do(invocation: Invocation, errand: "Errand", as_json: bool) -> Exit:
    from pathlib import Path

    from sapwood.app.gardening.answers import Found
    from sapwood.app.gardening.gardener import Gardener
    from sapwood.app.gardening.sessions import running_session
    from sapwood.app.gardening.telling import answer_lines
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines

    running = running_session(os.environ)
    answer = await Gardener(Path.cwd(), invocation.config, running).do(errand)
    print_lines([json_line(answer)] if as_json else answer_lines(answer, columns()))
    return Exit.FAILED if isinstance(answer, Found) and not answer.hits else Exit.OK


@click.group(
    cls=_Context,
    invoke_without_command=True,
    commands=action_commands(_run),
    params=shared_options(),
    examples=[
        "sapwood context",
        "sapwood context demo",
        "sapwood context drift",
        "sapwood context archive --background",
        "sapwood context ledger --transcript session.jsonl --json",
    ],
)
@click.pass_context
def command(context: click.Context, **_: Any) -> Any:
    """Tend a session's context: see what fills it, focus, archive, hand it off.

    For sessions of Claude Code, Codex and Gemini CLI and for Sapwood's own agents. The session is
    the newest of this folder, unless one is named. Without an action, an overview is shown. Counts
    with a tilde are estimates.
    """
    context.color = context.ensure_object(Invocation).colour()
    if context.invoked_subcommand is None:
        return context.invoke(overview, name="", as_json=False)
    return None


@click.command(cls=Command, params=shared_options())
@click.argument("name", type=AGENT, default="")
@click.pass_obj
def overview(invocation: Invocation, name: str, as_json: bool, **_: Any) -> Exit:
    """Show what fills the window of a session or an agent."""
    given = given_above(click.get_current_context())
    wanted = name or given["session"] or ""
    path = given["transcript"] or ""
    return invocation.run(lambda: _overview(invocation, wanted, path, as_json or given["as_json"]))


async def _overview(invocation: Invocation, name: str, transcript: str, as_json: bool) -> Exit:
    """Today's window of an own agent; of another session, what fills it."""
    from pathlib import Path

    from sapwood.app.gardening.errand import Errand
    from sapwood.app.gardening.sessions import Sessions, running_session

    config = invocation.config
    running = running_session(os.environ)
    meant = await Sessions(Path.cwd(), config, running).find(name, transcript)
    if isinstance(meant, str):
        await _window(invocation, meant, as_json)
        return Exit.OK
    return await _do(invocation, Errand("breakdown", session=name, transcript=transcript), as_json)


async def _window(invocation: Invocation, typed: str, as_json: bool) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.display.context import context_lines, context_value
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.giving import asked
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.answers import ContextShown

    async with invocation.connected() as held:
        service = offline_service(held, invocation.config)
        answer = await asked(service, await find(held, typed), "context")
    assert isinstance(answer, ContextShown)
    if as_json:
        click.echo(json_line(context_value(answer.breakdown)))
    else:
        print_lines(context_lines(answer.breakdown, columns()))
