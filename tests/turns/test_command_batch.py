"""Many commands in one commit: as if given one after the other, or not at all."""

from sapwood.core.commands import CommandMeta, Compact, RecordTurn, SetMark, StartAgent
from sapwood.core.content import Text
from sapwood.core.events import HUMAN
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.tokens.estimators import Chars4Counter
from sapwood.turns.command_batch import SentCommand
from sapwood.turns.dispatch import Dispatcher, Done
from tests.store.memory_log import MemoryLog

ADA = AgentId("ada")
SPACE = Space("local")


def dispatcher(log: MemoryLog) -> Dispatcher:
    return Dispatcher(log, SPACE, lambda _: Chars4Counter())


def orders(*names: str) -> list[SentCommand]:
    """A start and as many turns, each at its own time."""
    start = (StartAgent(ADA), CommandMeta(CommandId("start"), 1, HUMAN))
    turns = [
        (RecordTurn(ADA, (Text(name),)), CommandMeta(CommandId(name), at, HUMAN))
        for at, name in enumerate(names, start=2)
    ]
    return [start, *turns]


async def test_they_leave_the_log_as_if_given_one_by_one() -> None:
    together, apart = MemoryLog(), MemoryLog()
    commands = orders("one", "two", "three")
    receipts = await dispatcher(together).dispatch_all(ADA, commands)
    for command, given in commands:
        await dispatcher(apart).dispatch(command, given)
    assert receipts is not None
    assert len(receipts) == len(commands)
    assert await together.read(SPACE, ADA) == await apart.read(SPACE, ADA)
    assert await together.summary(SPACE, ADA) == await apart.summary(SPACE, ADA)
    for _, given in commands:
        assert await together.receipt(SPACE, given.id) == await apart.receipt(SPACE, given.id)


async def test_each_can_be_given_again_and_acts_once() -> None:
    log = MemoryLog()
    await dispatcher(log).dispatch_all(ADA, orders("one", "two"))
    assert await dispatcher(log).dispatch_all(ADA, orders("one", "two")) is None
    for command, given in orders("one", "two"):
        answer = await dispatcher(log).dispatch(command, given)
        assert isinstance(answer, Done)
        assert answer.repeated
    assert len(await log.read(SPACE, ADA)) == 3


async def test_one_that_is_refused_stops_all() -> None:
    log = MemoryLog()
    bad = (SetMark(ADA, "7up"), CommandMeta(CommandId("bad"), 9, HUMAN))
    assert await dispatcher(log).dispatch_all(ADA, [*orders("one"), bad]) is None
    assert await log.read(SPACE, ADA) == []


async def test_one_that_changes_nothing_has_no_receipt() -> None:
    log = MemoryLog()
    empty = (Compact(ADA, "Nothing was said."), CommandMeta(CommandId("empty"), 9, HUMAN))
    receipts = await dispatcher(log).dispatch_all(ADA, [*orders(), empty])
    assert receipts is not None
    assert [receipt.command for receipt in receipts] == ["start"]
    assert await dispatcher(log).dispatch_all(ADA, [empty]) == ()


async def test_what_others_wrote_meanwhile_stops_all() -> None:
    log = MemoryLog()
    first, second = dispatcher(log), dispatcher(log)
    await first.dispatch_all(ADA, orders("one"))
    await second.dispatch(SetMark(ADA, "HERE"), CommandMeta(CommandId("mark"), 9, HUMAN))
    assert await first.dispatch_all(ADA, orders("two")[1:]) is None
    assert await first.dispatch_all(ADA, orders("two")[1:]) is not None
    assert len(await log.read(SPACE, ADA)) == 4
