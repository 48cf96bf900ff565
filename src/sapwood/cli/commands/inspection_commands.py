"""`sapwood show`, `log`, `replay` and `diff`: read a conversation, its events and its requests."""

import sys
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber, in_event_loop, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT, MARK

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.core.events import Recorded
    from sapwood.core.ids import AgentId


@subcommand(
    examples=[
        "sapwood show demo",
        "sapwood show demo/3 --whole",
        "sapwood show 4cfa198d",
        "sapwood show k3h7wq2mzp:12",
    ]
)
@click.argument("place", metavar="AGENT[/TURN|:VERSION]", type=AGENT)
@click.option("--whole", is_flag=True, help="Do not shorten long tool results.")
@click.option("--everything", is_flag=True, help="Include messages that the model no longer sees.")
@json_option("Print the request, the turns or the event as JSON.")
@in_event_loop
async def show_command(
    invocation: Invocation, place: str, whole: bool, everything: bool, as_json: bool
) -> None:
    """Show a conversation as the model sees it, a turn, or one event.

    AGENT is an id, the start of one, or a name; for a session of another program, the id of the
    session or its start. With a turn, such as AGENT/3 or AGENT/4-9, shows only that turn, in view
    or not.

    A line marks where older messages are hidden from the model and says how to bring them back.
    They stay in the log: --everything shows them, and sapwood search finds them. With a version,
    shows that event in full. New turns of a session of another program are imported first.
    """
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.conversation_printer import origin_lines, print_conversation
    from sapwood.cli.output.event_text import json_line
    from sapwood.conversation.agent_lookup import find_turns, read_turn, split_place
    from sapwood.conversation.model_requests import request_for
    from sapwood.conversation.session_changes import bring_up_to_date

    async with invocation.connected() as connection:
        typed, colon, version = place.rpartition(":")
        if colon and version.isdigit():
            await _event(connection, typed, int(version), as_json)
            return
        typed, turns = await split_place(connection, place)
        agent = await _find(invocation, connection, typed)
        if connection.server is None and (notice := await bring_up_to_date(connection, agent)):
            click.echo(notice, err=True)
        opened = await connection.dispatcher.open(agent)
        if turns:
            starts = await find_turns(connection, opened.state, turns)
            if not as_json:
                refs = [start.ref for start in starts]
                await print_conversation(connection, agent, columns(), whole=whole, turns=refs)
                return
            for start in starts:
                click.echo(json_line(await read_turn(connection, start)))
        elif as_json:
            click.echo(json_line(await request_for(connection, opened.state.agent)))
        else:
            print_lines(origin_lines(opened.state))
            await print_conversation(
                connection, agent, columns(), whole=whole, everything=everything
            )


async def _find(invocation: Invocation, connection: "Connection", typed: str) -> "AgentId":
    """The agent that somebody typed; imports the session of another program that is meant."""
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.context_actions.session_finder import NoSession, SessionFinder, SeveralSessions
    from sapwood.context_actions.session_fork import SessionForker
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import UnknownAgent

    try:
        return await find(connection, typed)
    except RefusedError as error:
        is_unknown = isinstance(error.refusal, UnknownAgent)
        if connection.server is not None or not (typed and is_unknown):
            raise  # nothing typed would mean the session of this folder
        sessions = SessionFinder(Path.cwd(), invocation.config, connect)
        try:
            target = await sessions.find(typed)
        except SeveralSessions:
            raise
        except NoSession:
            raise error from None
    if isinstance(target, str):
        return target
    return await SessionForker(connection, sessions).agent_at(target)


async def _event(connection: "Connection", typed: str, version: int, as_json: bool) -> None:
    import msgspec

    from sapwood.cli.output.event_text import event_value, json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import SapwoodError

    agent = await find(connection, typed)
    found = await connection.log.read(connection.space, agent, version, version)
    if not found:
        summary = await connection.log.summary(connection.space, agent)
        newest = summary.version if summary else 0
        raise SapwoodError(
            f"There is no version {version}: {agent}'s log ends at version {newest}."
        )
    line = json_line(event_value(found[0]))
    click.echo(line if as_json else msgspec.json.format(line, indent=2))


_PAGE = 500


@subcommand(
    examples=[
        "sapwood log demo",
        "sapwood log demo -n 5 --kind turn.failed",
        "sapwood log demo --follow --json",
    ]
)
@click.argument("agent", type=AGENT)
@click.option("-n", "--last", type=WholeNumber(1), metavar="N", help="Only the last N events.")
@click.option("-k", "--kind", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("-f", "--follow", is_flag=True, help="Print new events until Ctrl-C.")
@json_option()
@in_event_loop
async def log_command(
    invocation: Invocation,
    agent: str,
    last: int | None,
    kind: tuple[str, ...],
    follow: bool,
    as_json: bool,
) -> None:
    """Show an agent's events.

    Oldest first. Events are never removed, so the log is complete. Brackets show the tokens used by
    each model call and, at the end of a turn, by all its calls. To see an event in full, type:
    sapwood show AGENT:VERSION
    """
    from sapwood.cli.console import columns
    from sapwood.cli.output.event_text import Spending, event_line, event_value, json_line
    from sapwood.conversation.agent_lookup import find

    kinds = frozenset(kind)
    width, spending = columns(), Spending()

    def show(recorded: "Recorded") -> None:
        used = spending.of(recorded)
        if not kinds or recorded.kind in kinds:
            value = event_value(recorded)
            click.echo(json_line(value) if as_json else event_line(recorded, width, used))

    async with invocation.connected() as connection:
        found = await find(connection, agent)
        seen = 0
        if last is not None:
            seen = await _before_last(connection, found, last, kinds)
        while page := await connection.log.read(connection.space, found, seen + 1, limit=_PAGE):
            for recorded in page:
                show(recorded)
            seen = page[-1].version
        if follow:
            async for recorded in connection.log.follow(connection.space, found, seen):
                show(recorded)


async def _before_last(
    connection: "Connection", agent: "AgentId", last: int, kinds: frozenset[str]
) -> int:
    """Returns the version before the last `last` events of these kinds."""
    found, before = 0, None
    while page := await connection.log.read(
        connection.space, agent, 1, before, limit=max(last, _PAGE), backward=True
    ):
        for recorded in page:
            found += not kinds or recorded.kind in kinds
            if found == last:
                return recorded.version - 1
        before = page[-1].version - 1
        if not before:
            break
    return 0


@subcommand(
    examples=["sapwood replay demo", "sapwood replay demo --calls", "sapwood replay demo 17 --json"]
)
@click.argument("agent", type=AGENT)
@click.argument("version", type=WholeNumber(1), required=False)
@click.option("--calls", is_flag=True, help="List the model calls.")
@json_option("Print the request as JSON, with its hash.")
@in_event_loop
async def replay_command(
    invocation: Invocation, agent: str, version: int | None, calls: bool, as_json: bool
) -> Exit:
    """Show the exact request of a model call, verified by its hash.

    Rebuilds the request from the log and compares its hash with the one stored before the call.
    VERSION is the call's version in the log; the default is the last call. For a conversation
    imported from Claude Code, the request comes from the transcript, and VERSION is the request's
    number there. The exit code is 1 if a hash does not match.
    """
    if calls:
        return await _list(invocation, agent)
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import print_lines
    from sapwood.cli.output.answer_text import request_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.erasure import ERASED
    from sapwood.core.errors import SapwoodError

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        answer = await service.replay(await find(connection, agent), version)
    if (seen := answer.replayed) is None:
        raise SapwoodError(answer.message)
    verdict = "matches" if seen.matches else "DOES NOT MATCH"
    if not seen.matches and ERASED in str(seen.request):
        verdict += " (it contained mail or a quotation that was erased)"
    if as_json:
        checked = {"ref": str(seen.ref), "hash": seen.called.hash, "matches": seen.matches}
        click.echo(json_line({**checked, "request": seen.request}))
    else:
        print_lines(request_lines(seen.request))
        click.echo(f"\n{seen.ref} to {seen.called.model}: the hash {verdict}.")
    return Exit.OK if seen.matches else Exit.FAILED


async def _list(invocation: Invocation, typed: str) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns
    from sapwood.cli.output.event_text import event_line
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        service = offline_service(connection, invocation.config)
        width = columns()
        for call in reversed(await service.model_calls(agent, sys.maxsize)):
            click.echo(event_line(call.recorded, width))
    return Exit.OK


@subcommand(
    examples=[
        "sapwood diff demo START",
        "sapwood diff demo START GOOD",
        "sapwood diff demo 3 7",
    ]
)
@click.argument("agent", type=AGENT)
@click.argument("left", type=MARK)
@click.argument("right", type=MARK, required=False)
@in_event_loop
async def diff_command(invocation: Invocation, agent: str, left: str, right: str | None) -> Exit:
    """Compare two contexts.

    LEFT and RIGHT are marks or turns; a turn stands for the context just before it. Without RIGHT,
    LEFT is compared with the current context. A minus marks turns that only LEFT has, a plus those
    that only RIGHT has. The exit code is 1 if they differ.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.display.timeline_text import comparison_lines

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        compared = await service.compare(await find(connection, agent), left, right)
    print_lines(comparison_lines(compared, columns()))
    return Exit.OK if compared.diff.same else Exit.FAILED
