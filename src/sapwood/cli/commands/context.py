"""`sapwood context`, also installed as `context`: inspects and manages a session's context.

Every declared action becomes a sub-command, with the fields of its declaration as options.
"""

import os
from collections.abc import Callable
from typing import Any, cast, get_args

import click
import msgspec
from msgspec.inspect import BoolType, Field, IntType, Metadata, StructType, type_info

from sapwood.cli.command import Command, Commands, WholeNumber
from sapwood.cli.commands.session_commands import session_commands
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT
from sapwood.context_actions.context_request import ACTIONS, FOR_ALL, Action, ContextRequest
from sapwood.core.events import NoteKind

_OVERVIEW = "overview"
_ARGUMENT_METAVARS = {
    "topic": "TOPIC",
    "target_agent": "AGENT",
    "query": "WORDS...",
    "text": "TEXT...",
}
_MAY_BE_BARE = ("focus", "note")
"""Actions that show something when they are typed alone."""
_KINDS: tuple[str, ...] = get_args(NoteKind)
_OPTION_METAVARS = {"session": "ID", "transcript": "FILE", "topic": "TOPIC", "task": "TEXT"}


def _action_commands(run: Callable[[ContextRequest, bool], Any]) -> dict[str, click.Command]:
    """Returns a command for each action. It calls `run` with the request and the flag `--json`."""
    return {action.name: _command(action, run) for action in ACTIONS}


def _shared_options() -> list[click.Parameter]:
    """Returns new options that every action takes, and `--json`."""
    return [
        *(_option(_fields()[name]) for name in FOR_ALL),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ]


def _group_options(context: click.Context) -> dict[str, Any]:
    """Returns the options before the action, as in `context --session ID drift`."""
    above = context.parent.params if context.parent else {}
    return {name: above.get(name) for name in (*FOR_ALL, "as_json")}


def _command(action: Action, run: Callable[[ContextRequest, bool], Any]) -> click.Command:
    def callback(**given: Any) -> Any:
        above = _group_options(click.get_current_context())
        given = {**given, **{name: given[name] or value for name, value in above.items()}}
        as_json = bool(given.pop("as_json"))
        words = given.get(action.bare)
        if isinstance(words, tuple):
            given[action.bare] = " ".join(cast("tuple[str, ...]", words))
        fields = {name: value for name, value in given.items() if value is not None}
        return run(msgspec.convert({"action": action.name, **fields}, ContextRequest), as_json)

    fields = _fields()
    bare = [_argument(action)] if action.bare else []
    if action.first:
        bare.insert(0, _first_argument(action))
    options = [
        _option(fields[name]) for name in action.takes if name not in (action.bare, action.first)
    ]
    return Command(
        action.name,
        callback=callback,
        params=[*bare, *options, *_shared_options()],
        help=f"{action.help}.",
        examples=[f"sapwood context {example}" for example in action.examples],
    )


def _argument(action: Action) -> click.Argument:
    return click.Argument(
        [action.bare],
        nargs=-1,
        required=action.name not in _MAY_BE_BARE,
        metavar=_ARGUMENT_METAVARS[action.bare],
    )


def _first_argument(action: Action) -> click.Argument:
    return click.Argument(
        [action.first], required=False, type=click.Choice(_KINDS), metavar="|".join(_KINDS)
    )


def _option(field: Field) -> click.Option:
    kind, help_ = field.type, ""
    if isinstance(kind, Metadata):
        schema = cast("dict[str, str]", kind.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
        help_ = schema["description"]
        kind = kind.type
    flag = f"--{field.name.replace('_', '-')}"
    match kind:
        case BoolType():
            return click.Option([flag, field.name], is_flag=True, help=f"{help_}.")
        case IntType():
            allowed = WholeNumber(kind.ge, kind.le)
            return click.Option(
                [flag, field.name],
                type=allowed,
                default=field.default,
                show_default=True,
                metavar="N",
                help=f"{help_}.",
            )
        case _:
            metavar = _OPTION_METAVARS[field.name]
            return click.Option([flag, field.name], metavar=metavar, help=f"{help_}.")


def _fields() -> dict[str, Field]:
    info = type_info(ContextRequest)
    assert isinstance(info, StructType)
    return {field.name: field for field in info.fields}


class _Context(Commands):
    """Takes a word that is not an action as an agent or a session, and shows its overview."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return _OVERVIEW, overview, args


@click.command(
    "spawn",
    cls=Command,
    for_people=True,
    examples=[
        "sapwood context spawn reviewer",
        "sapwood context spawn reviewer --with codex --task 'Review the OAuth flow'",
        "sapwood context spawn fixer --with claude-code --worktree fix-leak",
    ],
)
@click.argument("target", metavar="AGENT")
@click.option(
    "--with",
    "model",
    default="",
    metavar="NAME",
    help="claude-code, codex or a model, instead of the session's model.",
)
@click.option("--task", default="", metavar="TEXT", help="The new agent's task.")
@click.option(
    "--worktree",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[BRANCH]",
    help="Give it its own git worktree and branch.",
)
@click.option(
    "--session", default="", metavar="ID", help="Session to use; default: the current one."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def spawn(invocation: Invocation, target: str, as_json: bool, **given: Any) -> Exit:
    """Hand the session off to a new agent, which mails its answer back.

    The agent sees only the handoff, not the rest of the session. Sapwood first sets a mark in the
    session, so you can rewind to it. A worker runs the agent, or run it yourself: sapwood run
    --agent ID.
    """
    above = _group_options(click.get_current_context())
    given["session"] = given["session"] or above["session"] or ""
    as_json = as_json or bool(above["as_json"])
    return invocation.run(lambda: _spawn(invocation, target, as_json, **given))


async def _spawn(invocation: Invocation, target: str, as_json: bool, **given: Any) -> Exit:
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.cli.output.event_text import json_line
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.actions import ContextActions
    from sapwood.context_actions.session_finder import SessionFinder, running_session
    from sapwood.context_actions.spawn_action import Spawner
    from sapwood.conversation.configured_models import require_model
    from sapwood.display.text import plain

    config, running = invocation.config, running_session(os.environ)
    if given["model"]:
        require_model(given["model"], config, load_keys(os.environ))
    async with invocation.connected_for_commands() as connection:
        finder = SessionFinder(Path.cwd(), config, connect, running)
        spawner = Spawner(connection, finder, ContextActions(Path.cwd(), config, connect, running))
        done = await spawner.spawn(
            target,
            task=given["task"],
            model=given["model"],
            session=given["session"],
            branch=given["worktree"],
        )
    click.echo(json_line(done) if as_json else plain(done.message))
    return Exit.OK


def _run(request: ContextRequest, as_json: bool) -> Exit:
    invocation = click.get_current_context().find_object(Invocation)
    assert invocation is not None
    return invocation.run(lambda: _do(invocation, request, as_json))


async def _do(invocation: Invocation, request: ContextRequest, as_json: bool) -> Exit:
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.context_actions.actions import ContextActions
    from sapwood.context_actions.context_answers import SessionSearchResults
    from sapwood.context_actions.session_finder import running_session
    from sapwood.display.context_answer_text import answer_lines

    running = running_session(os.environ)
    answer = await ContextActions(Path.cwd(), invocation.config, connect, running).do(request)
    print_lines([json_line(answer)] if as_json else answer_lines(answer, columns()))
    return Exit.FAILED if isinstance(answer, SessionSearchResults) and not answer.hits else Exit.OK


@click.group(
    cls=_Context,
    invoke_without_command=True,
    commands={**_action_commands(_run), **session_commands("sapwood context"), "spawn": spawn},
    params=_shared_options(),
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
    """Inspect and manage a session's context: usage, focus, archives, handoff.

    Works on sessions of Claude Code, Codex, Gemini CLI, opencode and pi, and on Sapwood agents.
    Uses the newest session in this folder unless you name one. Without an action, prints an
    overview. A tilde marks an estimate.
    """
    context.color = context.ensure_object(Invocation).colour()
    if context.invoked_subcommand is None:
        return context.invoke(overview, name="", as_json=False)
    return None


@click.command(cls=Command, params=_shared_options())
@click.argument("name", type=AGENT, default="")
@click.pass_obj
def overview(invocation: Invocation, name: str, as_json: bool, **_: Any) -> Exit:
    """Show what fills the context window of a session or an agent."""
    given = _group_options(click.get_current_context())
    wanted = name or given["session"] or ""
    path = given["transcript"] or ""
    return invocation.run(lambda: _overview(invocation, wanted, path, as_json or given["as_json"]))


async def _overview(invocation: Invocation, name: str, transcript: str, as_json: bool) -> Exit:
    """Prints the current window of an agent, or the breakdown of another session."""
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.context_actions.session_finder import (
        SessionFinder,
        database_exists,
        running_session,
        waiting_change_of,
    )
    from sapwood.programs.transcripts.session_files import FoundSession

    config = invocation.config
    running = running_session(os.environ)
    found = await SessionFinder(Path.cwd(), config, connect, running).find(name, transcript)
    if isinstance(found, str):
        await _window(invocation, found, as_json)
        return Exit.OK
    if isinstance(found, FoundSession) and database_exists(config):
        async with invocation.connected() as connection:
            if notice := await waiting_change_of(connection, found):
                click.echo(notice, err=True)
    return await _do(
        invocation, ContextRequest("breakdown", session=name, transcript=transcript), as_json
    )


async def _window(invocation: Invocation, typed: str, as_json: bool) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_window import context_lines, context_value
    from sapwood.cli.output.event_text import json_line
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.answers import ContextShown

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(service, await find(connection, typed), "context")
    assert isinstance(answer, ContextShown)
    if as_json:
        click.echo(json_line(context_value(answer.breakdown)))
    else:
        print_lines(context_lines(answer.breakdown, columns()))
