"""`/accept-plan` pins the plan, ends plan mode and opens one turn, once for each command id."""

from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Prompted
from sapwood.conversation.call import Person
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.checkpoint import Destination, Saved
from sapwood.core.command_table import TABLE
from sapwood.core.commands import StartRevert
from sapwood.core.content import PromptPart
from sapwood.core.events import HUMAN
from sapwood.core.refusals import BadArguments, NothingToAccept, Refusal, RevertCutOff
from sapwood.core.state import State
from tests.conversation.cut_off import Killed, dies_before_its_prompt, dies_before_the_step

ACCEPT = CommandStep(TABLE["accept-plan"])
ONCE = Person(HUMAN, "once")


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


async def planned(db: Sapwood) -> Agent:
    """An agent in plan mode, with a plan."""
    agent = await db.start("demo")
    await agent.run_command("/permissions plan")
    await agent.record("How do we count storks?", "From the roof.")
    return agent


@pytest.mark.parametrize("before", ["mode", "prompt"])
async def test_a_plan_whose_acceptance_was_cut_off_is_carried_out_when_it_is_repeated(
    db: Sapwood, before: str
) -> None:
    agent = await planned(db)
    with pytest.MonkeyPatch.context() as patch:
        dies_before_the_step(patch, before)
        dies_before_its_prompt(patch)
        with pytest.raises(Killed):
            await agent.service.answer(agent.id, ACCEPT, caller=ONCE)
    assert (await agent.state()).open is None
    assert isinstance(await agent.service.answer(agent.id, ACCEPT, caller=ONCE), Prompted)
    state = await agent.state()
    assert [pin.text for pin in state.pins] == ["From the roof."]
    assert (state.settings.permission_mode, state.open is not None) == ("ask", True)


async def test_the_same_command_id_carries_a_plan_out_once(db: Sapwood) -> None:
    agent = await planned(db)
    first = await agent.service.answer(agent.id, ACCEPT, caller=ONCE)
    assert isinstance(first, Prompted)
    while_open = await agent.service.answer(agent.id, ACCEPT, caller=ONCE)
    await agent.interrupt()
    later = await agent.service.answer(agent.id, ACCEPT, caller=ONCE)
    assert [getattr(each, "turn", 0) for each in (while_open, later)] == [first.turn] * 2
    assert (await agent.state()).turns == 2
    other = await agent.service.answer(agent.id, ACCEPT, caller=Person(HUMAN, "twice"))
    assert other == NothingToAccept()


async def test_a_revert_that_was_cut_off_and_cannot_be_finished_leaves_the_plan(
    db: Sapwood,
) -> None:
    agent = await planned(db)
    started = StartRevert(agent.id, Saved("c1", "t1"), Destination(1, 1, "turn 1"))
    await agent.service.dispatch(started)
    before = await agent.state()
    service = ConversationService(structs.replace(agent.service.services, checkpoints=None))
    assert await service.answer(agent.id, ACCEPT) == RevertCutOff("turn 1")
    assert await agent.state() == before


async def test_a_hook_that_objects_leaves_a_plan_as_it_was(db: Sapwood) -> None:
    agent = await planned(db)
    before = await agent.state()

    async def object_to(state: State, prompt: Sequence[PromptPart]) -> Refusal:
        return BadArguments("a prompt", "Not today.")

    service = ConversationService(structs.replace(agent.service.services, check_prompt=object_to))
    assert await service.answer(agent.id, ACCEPT) == BadArguments("a prompt", "Not today.")
    assert await agent.state() == before
