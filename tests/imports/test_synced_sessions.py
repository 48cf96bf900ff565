"""Imports of sessions that Sapwood changed: its own rows are passed over, and turns continue."""

import asyncio
import json
import os
import random
from asyncio import Event
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.app.connection import Connection, connect
from sapwood.core.commands import (
    Clear,
    Command,
    Compact,
    KeepLast,
    RecordSync,
    Redo,
    Rewind,
    Undo,
)
from sapwood.core.content import Text
from sapwood.core.context import Context
from sapwood.core.events import SYSTEM, ContextRewound, ContextTrimmed, TurnRecorded
from sapwood.core.ids import AgentId
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import Refusal
from sapwood.core.turn import Reply
from sapwood.imports import importer, session_lock
from sapwood.imports.importer import Importer
from sapwood.programs.transcripts.transcript_events import imported_agent_id, microseconds
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.program_sessions import history_of, needs_sync
from tests.imports.synced_sessions import ClaudeSession, CodexSession, ProgramFile

NEVER = float("inf")
EARLIER = microseconds("2026-11-14T11:00:00Z")
"""Before the rows of every turn: the plugin's command runs before its rows are written."""


class Contact:
    """Sapwood at work on one session: imports, gives commands, and changes the session."""

    def __init__(self, held: Connection, file: ProgramFile) -> None:
        self.held = held
        self.file = file
        self.source = "claude-code" if isinstance(file, ClaudeSession) else "codex"

    @property
    def agent(self) -> AgentId:
        session = "5e55" if self.source == "claude-code" else "01a1e0eb-8813-7583-9b11-411efef3d821"
        return imported_agent_id(self.source, session)

    async def bring(self) -> None:
        importer = Importer(self.held, idle_seconds=NEVER)
        done = await importer.bring(self.file.path)
        await importer.close()
        assert not done.problem
        assert done.agent == self.agent

    async def opened(self) -> OpenAgent:
        return await self.held.dispatcher.open(self.agent)

    async def view(self) -> list[str]:
        return [turn.prompt[-1].text for turn in (await self.opened()).live.turns]

    async def give(self, command: Command, at: int | None = None) -> bool:
        """Gives a command of a person, without changing the session. Whether it was accepted."""
        meta = command_meta()
        meta = meta if at is None else structs.replace(meta, at=at)
        done = await self.held.dispatcher.dispatch(command, meta)
        return not isinstance(done, Refusal)

    async def sync_session(self, *, recorded: bool = True) -> None:
        """Changes the session; not `recorded` if the process is killed right after that."""
        opened = await self.opened()
        if not needs_sync(opened.state):
            return
        history = history_of(opened.state, opened.live)
        names = [each.turn.prompt[-1].text for each in history.turns]
        rows = self.file.sync_session(names, "\n\n".join(history.front))
        if recorded:
            assert opened.state.session is not None
            session: ProgramSession = opened.state.session.session
            command = RecordSync(self.agent, session, "boundary", opened.state.context, rows)
            await self.held.dispatcher.dispatch(command, command_meta(SYSTEM))

    async def does(self, command: Command) -> None:
        """A whole contact: imports, gives a command, changes the session."""
        await self.bring()
        await self.give(command)
        await self.sync_session()


@pytest.fixture
async def held() -> AsyncIterator[Connection]:
    connection = await connect(":memory:")
    yield connection
    await connection.close()


@pytest.fixture(params=[ClaudeSession, CodexSession], ids=["claude-code", "codex"])
def contact(request: pytest.FixtureRequest, held: Connection, tmp_path: Path) -> Contact:
    return Contact(held, request.param(tmp_path))


async def seen_from_nothing(contact: Contact) -> list[str]:
    """The view after an import into an empty database."""
    fresh = await connect(":memory:")
    try:
        other = Contact(fresh, contact.file)
        await other.bring()
        return await other.view()
    finally:
        await fresh.close()


async def before(contact: Contact, name: str) -> Rewind:
    """The command that goes back to before a turn in view."""
    opened = await contact.opened()
    turns = list(opened.live.turns)
    place = next(i for i, turn in enumerate(turns) if turn.prompt[-1].text == name)
    head = opened.state.context.head
    tip = turns[place - 1].ref if place else head
    context = Context(tip, head, opened.state.context.summary)
    return Rewind(contact.agent, before=turns[place].ref, context=context)


async def test_turns_after_a_trim_continue_and_its_row_gives_no_second_trim(
    contact: Contact,
) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.does(KeepLast(contact.agent, 2))
    assert contact.file.view == ["two", "three"]
    contact.file.turn("four")
    await contact.bring()
    await contact.bring()
    assert await contact.view() == ["two", "three", "four"]
    events = [each.event for each in await contact.held.log.read(contact.held.space, contact.agent)]
    assert sum(isinstance(each, ContextTrimmed) for each in events) == 1
    assert sum(isinstance(each, TurnRecorded) for each in events) == 4
    assert await seen_from_nothing(contact) == ["two", "three", "four"]


async def test_a_rewind_and_its_undo_are_followed(contact: Contact) -> None:
    for name in ("one", "two", "three", "four"):
        contact.file.turn(name)
    await contact.bring()
    await contact.give(await before(contact, "three"))
    await contact.sync_session()
    assert contact.file.view == ["one", "two"]
    contact.file.turn("five")
    await contact.bring()
    assert await contact.view() == ["one", "two", "five"]
    await contact.does(Undo(contact.agent))
    assert contact.file.view == ["one", "two", "three", "four"]
    contact.file.turn("six")
    await contact.bring()
    assert await contact.view() == ["one", "two", "three", "four", "six"]
    assert await seen_from_nothing(contact) == ["one", "two", "three", "four", "six"]


async def test_two_commands_before_a_turn_are_both_passed_over(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.does(KeepLast(contact.agent, 1))
    await contact.does(Undo(contact.agent))
    await contact.bring()
    assert await contact.view() == ["one", "two", "three"]
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == ["one", "two", "three", "four"]


async def test_a_row_that_was_not_recorded_is_recognized(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.bring()
    await contact.give(KeepLast(contact.agent, 2))
    await contact.sync_session(recorded=False)
    await contact.does(Undo(contact.agent))
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == contact.file.view == ["one", "two", "three", "four"]


async def test_a_cleared_history_that_was_not_recorded_is_recognized(contact: Contact) -> None:
    contact.file.turn("one")
    await contact.bring()
    await contact.give(await before(contact, "one"))
    await contact.sync_session(recorded=False)
    await contact.does(Undo(contact.agent))
    assert await contact.view() == contact.file.view == ["one"]


async def test_a_program_that_went_on_without_the_change_is_followed(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.bring()
    await contact.give(await before(contact, "two"))
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == contact.file.view == ["one", "two", "three", "four"]


async def test_a_summary_is_kept_with_the_turns_after_it(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.does(Compact(contact.agent, "It began well.", keep=1))
    assert "It began well." in contact.file.front
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == ["three", "four"]
    summary = (await contact.opened()).live.summary
    assert summary is not None
    assert summary.text == "It began well."
    assert await seen_from_nothing(contact) == ["three", "four"]


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(8, 40))]
)
async def test_random_histories_give_the_view_of_the_program(contact: Contact, seed: int) -> None:
    chance = random.Random(seed)
    file, agent, names = contact.file, contact.agent, iter(range(1000))
    file.turn(f"turn {next(names)}")
    for _ in range(20):
        act = chance.choice(["turn", "turn", "turn", "own rewind", "import", "command", "command"])
        match act:
            case "turn":
                file.turn(f"turn {next(names)}")
            case "own rewind" if len(file.view) > 1:
                file.rewind(chance.randrange(1, len(file.view)))
                file.turn(f"turn {next(names)}")
            case "command":
                await contact.bring()
                live = await contact.view()
                command = _some_command(chance, agent)
                if command is None and live:
                    command = await before(contact, chance.choice(live))
                if command is not None:
                    await contact.give(command)
                crashed = chance.random() < 0.2
                await contact.sync_session(recorded=not crashed)
            case _:
                await contact.bring()
                assert await contact.view() == file.view, act
    await contact.bring()
    assert await contact.view() == file.view
    await contact.bring()
    assert await contact.view() == file.view
    assert await seen_from_nothing(contact) == file.view


def _some_command(chance: random.Random, agent: AgentId) -> Command | None:
    match chance.randrange(7):
        case 0:
            return Clear(agent)
        case 1:
            return KeepLast(agent, chance.randrange(1, 4))
        case 2:
            return Undo(agent)
        case 3:
            return Redo(agent)
        case 4:
            return Compact(agent, f"Summary {chance.randrange(100)}.", keep=chance.randrange(1, 3))
        case _:
            return None


async def test_a_bare_clear_and_its_undo_are_followed(contact: Contact) -> None:
    contact.file.turn("one")
    await contact.does(Clear(contact.agent))
    assert contact.file.view == []
    contact.file.turn("two")
    await contact.bring()
    assert await contact.view() == ["two"]
    assert await seen_from_nothing(contact) == ["two"]
    await contact.does(Undo(contact.agent))
    contact.file.turn("three")
    await contact.bring()
    assert await contact.view() == ["one", "two", "three"]
    assert await seen_from_nothing(contact) == ["one", "two", "three"]


async def test_the_turn_of_a_rewind_does_not_keep_it_from_applying(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.bring()
    await contact.give(await before(contact, "two"), EARLIER)
    contact.file.turn("/sapwood:rewind ONE")
    await contact.bring()
    assert await contact.view() == ["one"]
    assert needs_sync((await contact.opened()).state)
    await contact.sync_session()
    assert contact.file.view == ["one"]
    await contact.bring()
    await contact.give(Undo(contact.agent))
    await contact.sync_session()
    assert await contact.view() == contact.file.view == ["one", "two", "three"]
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == contact.file.view == ["one", "two", "three", "four"]


async def test_a_program_that_goes_on_after_the_turn_of_a_rewind_drops_the_rewind(
    contact: Contact,
) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.bring()
    await contact.give(await before(contact, "two"), EARLIER)
    contact.file.turn("/sapwood:rewind ONE")
    await contact.bring()
    contact.file.turn("five")
    await contact.bring()
    assert await contact.view() == contact.file.view
    events = await contact.held.log.read(contact.held.space, contact.agent)
    assert sum(isinstance(each.event, ContextRewound) for each in events) == 1, "the one typed"
    assert not await contact.give(Undo(contact.agent)), "there is nothing left to undo"


async def test_a_rewind_that_a_tool_call_asked_for_stays_too(contact: Contact) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.bring()
    rewind = await before(contact, "two")
    contact.file.turn("Please rewind.")
    fresh = [json.loads(line) for line in contact.file.path.read_text().splitlines()]
    during = microseconds(fresh[-2]["timestamp"])
    await contact.give(rewind, during)
    await contact.bring()
    assert await contact.view() == ["one"]


def pause_first(patch: pytest.MonkeyPatch, owner: type, name: str) -> tuple[Event, Event]:
    """Stops the first call of this method until the second event is set; the first says that."""
    method: Callable[..., Awaitable[object]] = getattr(owner, name)
    has_stopped, may_continue = Event(), Event()

    async def paused(*arguments: object) -> object:
        if not has_stopped.is_set():
            has_stopped.set()
            await may_continue.wait()
        return await method(*arguments)

    patch.setattr(owner, name, paused)
    return has_stopped, may_continue


@pytest.mark.parametrize("point", ["run", "_take"], ids=["before it reads", "after it has read"])
@pytest.mark.parametrize("is_synced", [True, False], ids=["changed", "not yet changed"])
async def test_an_import_that_a_command_overtakes_does_not_take_the_command_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, *, is_synced: bool
) -> None:
    monkeypatch.setattr(session_lock, "_SECONDS", 0.0)  # as if another machine imported
    here, there = [await connect(str(tmp_path / "log.db")) for _ in range(2)]
    file = ClaudeSession(tmp_path)
    contact, other = Contact(here, file), Contact(there, file)
    file.turn("one")
    file.turn("two")
    await contact.bring()
    await contact.does(await before(contact, "two"))
    file.turn("three")
    has_stopped, may_continue = pause_first(monkeypatch, importer._Walk, point)  # pyright: ignore[reportPrivateUsage]
    slow = asyncio.create_task(other.bring())
    await has_stopped.wait()
    await contact.bring()
    await contact.give(Undo(contact.agent))
    if is_synced:
        await contact.sync_session()
    may_continue.set()
    await slow
    await contact.sync_session()
    assert await contact.view() == file.view == ["one", "two"]
    events = await here.log.read(here.space, contact.agent)
    returns = [each for each in events if isinstance(each.event, ContextRewound)]
    assert len(returns) == 1, "the one typed"
    await here.close()
    await there.close()


async def lose_the_end(contact: Contact, *names: str) -> None:
    """The program adds turns, which are imported. Then the end of the file is lost with them."""
    file, view = contact.file, list(contact.file.view)
    size = file.path.stat().st_size
    for name in names:
        file.turn(name)
        await contact.bring()
    os.truncate(file.path, size)
    file.view = view


@pytest.mark.parametrize("commands", [[], [1], [2, 1]], ids=["no", "one", "two"])
async def test_a_file_that_lost_its_end_repeats_no_change_of_the_log(
    contact: Contact, commands: list[int]
) -> None:
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    for kept in commands:
        await contact.does(KeepLast(contact.agent, kept))
    contact.file.turn("four")
    await contact.bring()
    await lose_the_end(contact, "five", "six")
    contact.file.turn("seven")
    await contact.bring()
    assert await contact.view() == contact.file.view
    contact.file.turn("eight")
    await contact.bring()
    assert await contact.view() == contact.file.view == await seen_from_nothing(contact)


async def test_a_new_file_under_the_id_of_an_old_session_begins_anew(
    held: Connection, tmp_path: Path
) -> None:
    contact = Contact(held, ClaudeSession(tmp_path))
    for name in ("one", "two", "three"):
        contact.file.turn(name)
    await contact.does(KeepLast(contact.agent, 2))
    contact.file.path.unlink()
    contact.file = ClaudeSession(tmp_path)
    contact.file.file.rows = 100
    contact.file.turn("new")
    await contact.bring()
    assert await contact.view() == contact.file.view == ["new"]


@pytest.mark.parametrize("each_row", [True, False], ids=["after each row", "at the end"])
async def test_two_terminals_on_one_session_make_branches(
    held: Connection, tmp_path: Path, *, each_row: bool
) -> None:
    session = ClaudeSession(tmp_path)
    contact, file = Contact(held, session), session.file
    session.turn("one")
    ends: dict[str, str | None] = dict.fromkeys(("here", "there"), file.last)
    for name, is_prompt in (
        ("here", True),
        ("there", True),
        ("here", False),
        ("there", False),
        ("here", True),
        ("here", False),
    ):
        file.last = ends[name]
        ends[name] = file.user(name) if is_prompt else file.says(f"said {name}")
        if each_row:
            await contact.bring()
    await contact.bring()
    replies = [
        part.text
        for turn in (await contact.opened()).live.turns
        for item in turn.items
        if isinstance(item, Reply)
        for part in item.parts
        if isinstance(part, Text)
    ]
    assert replies == ["Done one.", "said here", "said here"]
    assert await contact.view() == await seen_from_nothing(contact)


@pytest.fixture(params=[0, 1], ids=["summary alone", "one turn kept"])
async def compacted(
    request: pytest.FixtureRequest, held: Connection, tmp_path: Path
) -> tuple[Contact, list[str]]:
    """A session in which a rewind waits, and that its program has compacted since.

    The texts are what the program then has in view.
    """
    session = ClaudeSession(tmp_path)
    contact = Contact(held, session)
    for name in ("one", "two", "three"):
        session.turn(name)
    await contact.bring()
    await contact.give(await before(contact, "two"))
    session.compact("It was about two.", request.param)
    return contact, session.view


async def test_a_rewind_that_waits_outlasts_a_compaction_of_the_program(
    compacted: tuple[Contact, list[str]],
) -> None:
    contact, _ = compacted
    await contact.bring()
    await contact.bring()
    assert await contact.view() == ["one"]
    await contact.sync_session()
    assert (contact.file.view, contact.file.front) == (["one"], "")
    contact.file.turn("four")
    await contact.bring()
    assert await contact.view() == contact.file.view == ["one", "four"]
    assert (await contact.opened()).live.summary is None


async def test_a_program_that_goes_on_after_its_compaction_drops_a_rewind_that_waits(
    compacted: tuple[Contact, list[str]],
) -> None:
    contact, kept = compacted
    await contact.bring()
    session = contact.file
    assert isinstance(session, ClaudeSession)
    session.file.user("four")
    session.file.says("Done four.")
    await contact.bring()
    assert await contact.view() == [*kept, "four"]
    summary = (await contact.opened()).live.summary
    assert summary is not None
    assert "It was about two." in summary.text
    assert await seen_from_nothing(contact) == [*kept, "four"]
