"""An id belongs to one command: repeated it repeats the answer, for anything else it is refused."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from msgspec import Struct, UnsetType, structs

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import (
    AddFile,
    AddReply,
    Command,
    CommandMeta,
    FinishTool,
    Fork,
    LeaseTurn,
    RecordSync,
    Rename,
    Rewind,
    SetMark,
    StartAgent,
    StartTurn,
)
from sapwood.core.content import Note, Thinking, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.file_part import File
from sapwood.core.ids import AgentId, CommandId, TranscriptRange
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import CommandIdUsed
from sapwood.testing import CoreHarness
from sapwood.turns.command_batch import command_digest
from sapwood.turns.dispatch import Done
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk

COMMANDS: tuple[type[Command], ...] = get_args(Command)
NOT_ASKED = {
    (StartTurn, "instructions"),
    (StartTurn, "lease"),
    (LeaseTurn, "lease"),
    (AddReply, "asked"),
}
"""What a retry may have otherwise: files that were read again, leases, and another model call."""
WHOLE: dict[type[Struct], tuple[str, ...]] = {
    Note: ("origin", "text", "source", "fence"),
    Thinking: ("text", "provider", "signature"),
    ToolCall: ("id", "name", "args"),
    TranscriptRange: ("first", "last", "place"),
}
"""Structs that are stored with all their fields. A new field needs a digest without it."""
META = CommandMeta(CommandId("k"), 1)


def sample(hint: Any, number: int = 0) -> Any:
    """A value of a type; another one for another number."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is bool:
        return number % 2 == 0
    if hint in (int, float):
        return hint(number + 1)
    if hint is str or isinstance(hint, NewType):
        return f"text{number}"
    if origin is Literal:
        return args[number % len(args)]
    if origin is tuple:
        size = 1 if args[-1] is Ellipsis else len(args)
        return tuple(sample(args[0], number) for _ in range(size))
    if origin in (UnionType, Union):
        return sample(next(each for each in args if each not in (NoneType, UnsetType)), number)
    assert issubclass(hint, Struct), hint
    hints = get_type_hints(hint)
    return hint(**{name: sample(hints[name], number) for name in hint.__struct_fields__})


def changed(value: Struct) -> Iterator[tuple[str, Any]]:
    """The value with another content in each of its fields, one after the other."""
    hints = get_type_hints(type(value))
    for name in value.__struct_fields__:
        for number in (1, 2):
            new = sample(hints[name], number)
            if new != getattr(value, name):
                yield name, structs.replace(value, **{name: new})
                break


def structs_in(hint: Any) -> set[type[Struct]]:
    """All structs that a value of this type can hold, itself included."""
    if not (isinstance(hint, type) and issubclass(hint, Struct)):
        return {found for each in get_args(hint) for found in structs_in(each)}
    found: set[type[Struct]] = {hint}
    return found.union(*(structs_in(each) for each in get_type_hints(hint).values()))


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_field_of_a_command_counts(kind: type[Command]) -> None:
    command = sample(kind)
    for name, other in changed(command):
        same = command_digest(other, META) == command_digest(command, META)
        assert same == ((kind, name) in NOT_ASKED), name


@pytest.mark.parametrize("kind", COMMANDS)
def test_time_sender_and_the_way_over_http_do_not_count(kind: type[Command]) -> None:
    command = sample(kind)
    later = CommandMeta(CommandId("k"), 2, nonce="n", holder="h", trace="t")
    sent = msgspec.json.decode(msgspec.json.encode(structs.asdict(command)), type=kind)
    assert command_digest(sent, later) == command_digest(command, META)


def test_two_kinds_of_commands_never_have_the_same_digest() -> None:
    assert len({command_digest(sample(kind), META) for kind in COMMANDS}) == len(COMMANDS)


def test_a_renamed_command_keeps_its_digest() -> None:
    session = ProgramSession("codex", "s")
    command = RecordSync(AgentId("a"), session, "boundary", ROOT, ("row",))
    assert command_digest(command, META) == "80719902dc8eab678f3748ec20ac1d5a"


@pytest.mark.parametrize("kind", sorted(structs_in(Command), key=str))
def test_a_field_that_a_later_version_adds_changes_no_digest(kind: type[Struct]) -> None:
    config = kind.__struct_config__
    assert config.omit_defaults or kind.__struct_fields__ == WHOLE.get(kind, _required(kind))


def _required(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(each.name for each in structs.fields(kind) if each.required)


@pytest.mark.parametrize("kind", COMMANDS)
async def test_the_id_of_another_command_is_refused_with_its_first_use(
    kind: type[Command], desk: Desk, log: MemoryLog
) -> None:
    await desk.start()
    await desk.do(SetMark(AGENT, "HERE"), "k")
    before = await log.read(SPACE, AGENT)
    for command in (sample(kind), structs.replace(sample(kind), agent=AGENT)):
        assert await desk.answer(_valid(command), "k") == CommandIdUsed(AGENT, "mark.set")
    assert await log.read(SPACE, AGENT) == before
    assert [each.agent for each in await log.agents(SPACE)] == [AGENT]


def _valid(command: Command) -> Command:
    """The command without files that the gate refuses, and without places that do not exist."""
    if isinstance(command, AddFile):
        return structs.replace(command, file=File.of(b"content"))
    if isinstance(command, Rewind):
        return structs.replace(command, context=None)
    return structs.replace(command, files=()) if isinstance(command, FinishTool) else command


@given(histories())
async def test_a_repeated_command_repeats_its_answer_and_acts_once(
    operations: list[Operation],
) -> None:
    world, log = CoreHarness(), MemoryLog()
    desk = Desk(log)
    for operation in operations:
        for step in next_steps(world, operation):
            world.do(step.command, step.actor, step.call)
            number = world.commands
            meta = CommandMeta(CommandId(f"c{number}"), number, step.actor, step.call)
            first = await desk.dispatcher.dispatch(step.command, meta)
            if not isinstance(first, Done) or not first.events:
                continue
            stored = {agent: await log.read(SPACE, agent) for agent in world.logs}
            later = structs.replace(meta, at=number + 1, nonce="n", trace="t")
            again = await Desk(log).dispatcher.dispatch(step.command, later)
            assert again == structs.replace(first, repeated=True)
            other = structs.replace(step.command, agent=AgentId("another"))
            refused = await Desk(log).dispatcher.dispatch(other, later)
            assert isinstance(refused, CommandIdUsed), other
            assert {agent: await log.read(SPACE, agent) for agent in world.logs} == stored


async def test_the_answer_to_a_fork_is_known_from_its_events(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await desk.do(SetMark(AGENT, "HERE"))
    fork = Fork(AGENT, AgentId("child"), "HERE", name="scout")
    first = await desk.do(fork, "k")
    assert first.message.startswith("Forked. Child: scout (child) from HERE. To give it work")
    receipt = await log.receipt(SPACE, CommandId("k"))
    assert receipt is not None
    assert receipt.message == ""
    await desk.prompt("Look.", AgentId("child"))
    assert await Desk(log).answer(fork, "k") == structs.replace(first, repeated=True)


async def test_the_answer_to_a_fork_of_an_earlier_version_is_the_stored_one(
    desk: Desk, log: MemoryLog
) -> None:
    await desk.start()
    fork = Fork(AGENT, AgentId("child"))
    first = await desk.do(fork, "k")
    receipts = log._data_of(SPACE).receipts  # pyright: ignore[reportPrivateUsage]
    receipts[CommandId("k")] = structs.replace(receipts[CommandId("k")], message="Forked.")
    again = await desk.answer(fork, "k")
    assert again == structs.replace(first, message="Forked.", repeated=True)


async def test_a_receipt_without_a_digest_repeats_its_answer_for_the_same_agent_only(
    desk: Desk, log: MemoryLog
) -> None:
    await desk.start()
    await desk.start(AgentId("other"))
    done = await desk.do(SetMark(AGENT, "HERE"), "k")
    _forget_digest(log, "k")
    assert await desk.answer(SetMark(AGENT, "HERE"), "k") == structs.replace(done, repeated=True)
    assert await desk.answer(SetMark(AgentId("other"), "HERE"), "k") == CommandIdUsed(
        AGENT, "mark.set"
    )


async def test_a_receipt_without_a_digest_of_a_new_agent_names_the_agent_that_was_made(
    desk: Desk, log: MemoryLog
) -> None:
    done = await desk.do(StartAgent(AGENT), "k")
    _forget_digest(log, "k")
    again = await desk.answer(StartAgent(AgentId("made-anew")), "k")
    assert again == structs.replace(done, repeated=True)


def _forget_digest(log: MemoryLog, command: str) -> None:
    """Makes the receipt one of an earlier version."""
    receipts = log._data_of(SPACE).receipts  # pyright: ignore[reportPrivateUsage]
    known = receipts[CommandId(command)]
    receipts[CommandId(command)] = structs.replace(known, digest="")


async def test_what_was_asked_for_counts_if_the_command_was_made_from_it(desk: Desk) -> None:
    await desk.start()
    meta = CommandMeta(CommandId("k"), 1, request="/rename one")
    first = await desk.dispatcher.dispatch(Rename(AGENT, "one"), meta)
    assert isinstance(first, Done)
    again = await desk.dispatcher.dispatch(Rename(AGENT, "uno"), meta)
    assert again == structs.replace(first, repeated=True)
    asked = structs.replace(meta, request="/rename two")
    assert isinstance(await desk.dispatcher.dispatch(Rename(AGENT, "one"), asked), CommandIdUsed)
