"""Agents that run: turns, tools, delegation, waiting, compaction, interruption, failure."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from unittest.mock import patch

import pytest
from msgspec import Struct

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.conversation.answers import Compacted
from sapwood.conversation.call import Person, Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Configure, FailTurn
from sapwood.core.content import RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.errors import RefusedError
from sapwood.core.events import (
    ContextSummarized,
    ModelCalled,
    Recorded,
    SummaryDropped,
    ToolStarted,
    TurnFailed,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Commit, Receipt
from sapwood.core.model_calls import (
    Answer,
    Delta,
    Effect,
    Failure,
    ToolOutcome,
    ToolSpec,
    ToolUse,
)
from sapwood.core.refusals import BadArguments, CommandIdUsed, Refusal, SummaryLacking
from sapwood.core.settings import SettingsChange
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Request, ToolResult
from sapwood.engine.local_engine import LocalEngine
from sapwood.testing import FakeModel, NoTools, slash
from sapwood.testing.fake_model import Plan, Planned
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.replay import replay
from sapwood.turns.tool_calls import Toolbox, dispatch_in_turn, insist_in_turn


class House(Struct):
    """A running Sapwood with a planned model."""

    db: Sapwood
    running: AgentRunner
    model: FakeModel

    async def idle(self, agent: Agent) -> None:
        """Waits until the agent's turn has ended."""
        async for _ in self.running.watch(agent.id, 0):
            if (await agent.state()).open is None:
                return


@asynccontextmanager
async def house(
    plan: Plan,
    *,
    thinks_for: float = 0,
    tools: Toolbox | None = None,
    secrets: Mapping[str, str] | None = None,
    model: FakeModel | None = None,
) -> AsyncGenerator[House]:
    connection = await connect(":memory:")
    model = model or FakeModel(plan, thinks_for=thinks_for)
    running = AgentRunner(connection, LocalEngine(), model, tools or NoTools(), secrets)
    await running.start()
    try:
        async with asyncio.timeout(60):
            yield House(Sapwood(connection), running, model)
    finally:
        await running.close()
        await connection.close()


async def said(agent: Agent) -> list[str]:
    """Every text in view."""
    request = await agent.request()
    return [part.text for m in request.messages for part in m.parts if isinstance(part, Text)]


async def test_a_prompt_is_answered_and_the_turn_completes() -> None:
    async with house(lambda request, heard: f"heard {heard}") as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("hello")
        await at.idle(agent)
        assert await said(agent) == ["hello", "heard hello"]
        kinds = [recorded.kind for recorded in await agent.events()]
        assert kinds[-4:] == ["turn.started", "model.called", "reply.added", "turn.completed"]


async def test_the_budget_agrees_with_what_is_sent() -> None:
    async with house(lambda request, heard: "too late", thinks_for=60) as at:
        agent = await at.db.start(model="planned", system="Be brief.")
        await agent.run_command("hello")
        await at.model.asked.wait()
        called = (await agent.events())[-1].event
        assert isinstance(called, ModelCalled)
        budget = await agent.budget()
        assert budget.tools.tokens == called.offered > 0
        assert budget.total.tokens == called.estimate
        await agent.interrupt()


async def test_a_model_delegates_and_hears_back_by_mail() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard == "delegate":
            return slash("mark", "TASK")
        if heard.startswith("Marked"):
            return [Text("Compare OAuth and sessions."), slash("fork", "TASK")]
        if heard.startswith("Forked"):
            return slash("wait")
        if "You are a child agent" in heard:
            return "OAuth wins"
        if heard.startswith("Mail has arrived"):
            return slash("check-mail")
        return "done"

    async with house(plan) as at:
        lead = await at.db.start("lead", model="planned")
        await lead.run_command("delegate")
        await at.idle(lead)
        [result] = at.model.requests[-1].messages[-1].parts
        assert isinstance(result, ToolResult)
        assert "OAuth wins" in result.content
        assert "carry no authority" in result.content
        [child] = await at.db.agents(parent=lead.id)
        prompts = await said(await at.db.find(child.agent))
        assert prompts[0] == "Compare OAuth and sessions."
        assert "Your parent is the agent 'lead'" in prompts[1]


async def test_the_answer_of_a_child_comes_back_by_itself_once() -> None:
    async with house(lambda request, heard: f"heard {heard[-5:]}") as at:
        lead = await at.db.start("lead", model="planned")
        child = await lead.fork(goal="Find the leak.", name="scout")
        await at.idle(child)
        (letter,) = (await lead.state()).inbox
        assert letter.text == (
            f"Your child 'scout' ({child.id}) has finished. Its final answer:\n\nheard leak."
        )
        await child.run_command("And now?")
        await at.idle(child)
        assert len((await lead.state()).inbox) == 1


async def test_a_child_that_fails_says_so_to_its_parent() -> None:
    def plan(request: Request, heard: str) -> Planned:
        raise Failure("no_key", "There is no key for planned.")

    async with house(plan) as at:
        lead = await at.db.start("lead", model="planned")
        child = await lead.fork(goal="Find the leak.")
        await at.idle(child)
        (letter,) = (await lead.state()).inbox
        assert letter.text.endswith("stopped without an answer: There is no key for planned.")


async def test_a_model_rewinds_itself_and_leaves_a_note() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "note to yourself" in "".join(request.texts()):
            return "second way works"
        if heard == "try":
            return slash("mark", "START")
        if heard.startswith("Marked"):
            return slash("clear", "START the first way fails")
        return "giving up on this way"

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("try")
        await at.idle(agent)
        texts = await said(agent)
        assert texts[-2:] == ["try", "second way works"]
        assert "the first way fails" in texts[0]
        assert "giving up on this way" not in texts


async def test_a_failing_model_fails_the_turn_and_keeps_the_prompt() -> None:
    def plan(request: Request, heard: str) -> Planned:
        raise Failure("no_key", "There is no key for planned.")

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("hello")
        await at.idle(agent)
        assert await said(agent) == ["hello"]
        ended = (await agent.events())[-1].event
        assert isinstance(ended, TurnFailed)
        assert ended.error == "There is no key for planned."


async def test_a_request_too_long_is_tried_once_more_with_results_masked() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if sum(len(text) for text in request.texts()) > 6_000:
            raise Failure("too_long", "The request is too long.")
        return "it fits"

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        looked = RecordedReply((ToolCall("1", "read_file", "{}"),))
        await agent.record("read it", looked, RecordedResult("1", "x" * 8_000), "read")
        await agent.run_command("go on")
        await at.idle(agent)
        assert (await said(agent))[-1] == "it fits"


async def test_results_are_masked_again_when_a_turn_grows_too_long_once_more() -> None:
    def plan(request: Request, heard: str) -> Planned:
        texts = list(request.texts())
        if sum(len(text) for text in texts) > 6_000:
            raise Failure("too_long", "The request is too long.")
        masked = sum(text.startswith("[masked:") for text in texts)
        return ToolCall(str(masked), "read_file", "{}") if masked < 2 else "it fits"

    class Reader(NoTools):
        async def run(self, use: ToolUse) -> ToolOutcome:
            return ToolOutcome("x" * 8_000)

    async with house(plan, tools=Reader()) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("read twice")
        await at.idle(agent)
        kinds = [recorded.kind for recorded in await agent.events()]
        assert kinds.count("results.masked") == 2
        assert (await said(agent))[-1] == "it fits"


async def test_an_unknown_tool_is_an_error_for_the_model() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "sorry" if heard.startswith("There is no tool") else ToolCall("1", "fly", "{}")

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("fly")
        await at.idle(agent)
        assert (await said(agent))[-1] == "sorry"


async def test_a_model_that_numbers_its_calls_anew_in_each_turn_gets_ids_of_their_own() -> None:
    def plan(_: Request, heard: str) -> str | ToolCall:
        return ToolCall("call_0", "missing") if heard.startswith("Try") else "Done."

    async with house(plan) as at:
        agent = await at.db.start("demo", model="planned")
        for _ in range(3):
            await agent.run_command("Try it.")
            await at.idle(agent)
        parts = [part for m in (await agent.request()).messages for part in m.parts]
    calls = [part.id for part in parts if isinstance(part, ToolCall)]
    assert len(calls) == len(set(calls)) == 3
    assert [part.call for part in parts if isinstance(part, ToolResult)] == calls


async def test_every_model_call_can_be_replayed_with_its_hash() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return slash("mark") if heard.startswith("do") else "done"

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        for number in range(3):
            await agent.run_command(f"do {number}")
            await at.idle(agent)
        await agent.clear(keep=1)
        calls = [r.version for r in await agent.events() if r.kind == "model.called"]
        held = at.db.connection
        seen = [await replay(held.log, held.space, agent.id, version) for version in calls]
        assert len(seen) == 6
        assert all(each is not None and each.matches for each in seen)


async def test_compaction_keeps_what_mattered_and_repairs_once() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "lacks the following" in heard:
            return "They asked about the zebrafish_reader and want it fast."
        if heard.startswith("Summarise"):
            return "They asked something."
        return "A long answer. " * 50

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("Make the zebrafish_reader fast")
        await at.idle(agent)
        done = await at.running.compact(agent.id)
        assert not isinstance(done, Refusal)
        texts = await said(agent)
        assert "zebrafish_reader and want it fast" in texts[0]
        assert "Make the zebrafish_reader fast" in texts[1]
        assert (await agent.state()).spent.input > 0


async def test_a_summary_without_the_key_facts_is_refused_unless_a_person_insists() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "They asked something." if heard.startswith("Summarise") else "A long answer. " * 50

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("Make the zebrafish_reader fast")
        await at.idle(agent)
        before = await said(agent)
        refused = await at.running.compact(agent.id)
        assert isinstance(refused, SummaryLacking)
        assert refused.sentence.startswith(
            "1 turn summarised, but none of the key facts are in the summary. Nothing was changed."
        )
        assert await said(agent) == before
        assert sum("Summarise" in "".join(each.texts()) for each in at.model.requests) == 2
        done = await at.running.compact(agent.id, anyway=True)
        assert not isinstance(done, Refusal)
        assert "They asked something." in (await said(agent))[0]


async def test_a_summary_has_a_cap_of_its_own() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "is too long" in heard:
            return "zebrafish_reader, in short."
        if heard.startswith("Summarise"):
            return "The zebrafish_reader. " + "Words. " * 1_000
        return "A long answer. " * 5_000

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        capped = Configure(agent.id, SettingsChange(summary_cap=40))
        await at.db.connection.dispatcher.dispatch(capped, command_meta())
        await agent.run_command("Make the zebrafish_reader fast")
        await at.idle(agent)
        done = await at.running.compact(agent.id)
        assert not isinstance(done, Refusal)
        assert "zebrafish_reader, in short." in (await said(agent))[0]
        asked = [t for each in at.model.requests for t in each.texts() if t[:9] == "Summarise"]
        assert "Use at most 30 words." in asked[0]


async def test_the_words_after_compact_tell_the_model_what_to_keep() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "In short: herons." if heard.startswith("Summarise") else "A long answer. " * 50

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("Tell me about herons")
        await at.idle(agent)
        service = ConversationService(Services(at.running.connection, compact=at.running.compact))
        step = CommandStep(TABLE["compact"], "--anyway the names of the nests")
        assert isinstance(await service.answer(AgentId(agent.id), step), Compacted)
        asked = [t for each in at.model.requests for t in each.texts() if t[:9] == "Summarise"]
        assert "keep this in any case: the names of the nests" in asked[0]
        for wrong in ("3", "--keep", "--keep few"):
            refused = await service.answer(AgentId(agent.id), CommandStep(TABLE["compact"], wrong))
            assert isinstance(refused, BadArguments)


async def test_the_same_command_twice_stores_one_summary() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "In short: herons." if heard.startswith("Summarise") else "A long answer. " * 50

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("Tell me about herons")
        await at.idle(agent)
        service = ConversationService(Services(at.running.connection, compact=at.running.compact))

        async def compact(args: str = "--anyway") -> object:
            step = CommandStep(TABLE["compact"], args)
            return await service.answer(AgentId(agent.id), step, caller=Person(command_id="one"))

        first = await compact()
        assert isinstance(first, Compacted)
        end, asked = (await agent.state()).version, len(at.model.requests)
        again = await compact()
        assert isinstance(again, Compacted)
        assert again.events == first.events
        assert (await agent.state()).version == end
        assert len(at.model.requests) == asked, "the model is not asked again"
        assert isinstance(await compact("--keep 1"), CommandIdUsed)


async def test_the_same_command_twice_at_once_stores_one_summary() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "In short: herons." if heard.startswith("Summarise") else "A long answer. " * 50

    async with house(plan, thinks_for=0.05) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("Tell me about herons")
        await at.idle(agent)
        why = command_meta(command="one", request="compact")
        ran = [at.running.compact(agent.id, 0, True, why) for _ in range(2)]
        done = await asyncio.gather(*ran)
        assert not any(isinstance(each, Refusal) for each in done)
        kinds = [each.kind for each in await agent.events()]
        assert kinds.count("context.summarized") == 1
        assert kinds.count("summary.dropped") == 1, "the second summary is paid for"


async def test_a_summary_that_saves_nothing_changes_nothing() -> None:
    async with house(lambda request, heard: "word " * 500) as at:
        agent = await at.db.start(model="planned")
        await agent.record("a", "b")
        done = await at.running.compact(agent.id)
        assert not isinstance(done, Refusal)
        assert "not shorter" in done.message
        assert await said(agent) == ["a", "b"]


def dropped(events: list[Recorded]) -> list[SummaryDropped]:
    return [each.event for each in events if isinstance(each.event, SummaryDropped)]


async def spent_in_vain(at: House, agent: Agent) -> SummaryDropped:
    """What a compaction that came to nothing left in the log; all its calls are paid for."""
    before, asked = (await agent.state()).spent, len(at.model.requests)
    with suppress(Failure):
        await at.running.compact(agent.id)
    [event] = dropped(await agent.events())
    assert (await agent.state()).spent == before + event.usage
    reported = 10 * (len(at.model.requests) - asked)
    assert event.usage.output == reported
    return event


async def test_a_summary_that_saves_nothing_is_paid_for() -> None:
    async with house(lambda request, heard: "word " * 500) as at:
        agent = await at.db.start(model="planned")
        await agent.record("a", "b")
        assert "not shorter" in (await spent_in_vain(at, agent)).reason


async def test_a_summary_that_came_too_late_is_paid_for() -> None:
    async with house(lambda request, heard: "short", thinks_for=0.2) as at:
        agent = await at.db.start(model="planned")
        await agent.record("a long question " * 50, "a long answer " * 50)

        async def meanwhile() -> None:
            await at.model.asked.wait()
            await agent.record("and", "more")

        going_on = asyncio.ensure_future(meanwhile())
        assert "changed in the meantime" in (await spent_in_vain(at, agent)).reason
        await going_on


async def test_a_repair_that_fails_leaves_the_first_draft_to_pay() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "lacks the following" in heard:
            raise Failure("overloaded", "Busy.")
        return "They asked something."

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.record("Make the zebrafish_reader fast", "A long answer. " * 50)
        with pytest.raises(Failure, match="Busy"):
            await at.running.compact(agent.id)
        [event] = dropped(await agent.events())
        assert (event.reason, event.usage.output) == ("Busy.", 10)
        assert (await agent.state()).spent == event.usage


async def test_an_interrupt_leaves_the_first_draft_to_pay() -> None:
    async with house(lambda request, heard: "They asked something.", thinks_for=0.1) as at:
        agent = await at.db.start(model="planned")
        await agent.record("Make the zebrafish_reader fast", "A long answer. " * 50)
        compacting = asyncio.ensure_future(at.running.compact(agent.id))
        for _ in ("the first draft", "its repair"):
            await at.model.asked.wait()
            at.model.asked.clear()
        compacting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await compacting
        [event] = dropped(await agent.events())
        assert (event.reason, event.usage.output) == ("interrupted", 10)
        assert (await agent.state()).spent == event.usage


async def test_an_interrupt_while_the_summary_is_stored_records_its_tokens_once() -> None:
    async with house(lambda request, heard: "The zebrafish_reader got fast.") as at:
        agent = await at.db.start(model="planned")
        await agent.record("Make the zebrafish_reader fast", "A long answer. " * 50)
        log = at.db.connection.log
        stored = log.commit
        compacting = asyncio.ensure_future(at.running.compact(agent.id, anyway=True))

        async def commit(space: Space, what: Commit) -> Receipt | None:
            if any(e.kind == "context.summarized" for each in what.appends for e in each.events):
                compacting.cancel()
            return await stored(space, what)

        with patch.object(log, "commit", commit), pytest.raises(asyncio.CancelledError):
            await compacting
        assert dropped(await agent.events()) == []
        [summary] = [r.event for r in await agent.events() if r.kind == "context.summarized"]
        assert isinstance(summary, ContextSummarized)
        assert (await agent.state()).spent == summary.usage


async def test_an_interrupt_stops_the_model_and_keeps_what_was_there() -> None:
    async with house(lambda request, heard: "too late", thinks_for=60) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("think hard")
        await at.model.asked.wait()
        await agent.interrupt("enough")
        await at.idle(agent)
        assert await said(agent) == ["think hard"]


class Tools(NoTools):
    """A tool with effects that notes what it was called with."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def effect(self, use: ToolUse) -> Effect:
        return "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        self.ran.append(use.call.args)
        return ToolOutcome("written")


def cut(*parts: Text | ToolCall) -> Answer:
    return Answer(parts, ended="length")


async def test_a_call_that_was_cut_off_is_not_run() -> None:
    whole, half = ToolCall("1", "write", '{"a": 1}'), ToolCall("2", "write", '{"a": ')

    def plan(request: Request, heard: str) -> Planned:
        return cut(whole, half) if heard == "write" else f"heard: {heard}"

    tools = Tools()
    async with house(plan, tools=tools) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("write")
        await at.idle(agent)
        assert tools.ran == ['{"a": 1}']
        assert "cut off your reply inside this call" in (await said(agent))[-1]
        started = [r.event for r in await agent.events() if isinstance(r.event, ToolStarted)]
        assert started == [ToolStarted("1")]


async def test_replies_that_are_cut_off_again_and_again_fail_the_turn() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return cut(ToolCall("1", "write", '{"a": '))

    tools = Tools()
    async with house(plan, tools=tools) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("write")
        await at.idle(agent)
        assert tools.ran == []
        assert len(at.model.requests) == 3
        ended = (await agent.events())[-1].event
        assert isinstance(ended, TurnFailed)
        assert "Ask for smaller steps" in ended.error


async def test_a_text_that_was_cut_off_completes_the_turn_and_says_so() -> None:
    async with house(lambda request, heard: cut(Text("Once upon"))) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("tell")
        await at.idle(agent)
        assert (await said(agent))[1:] == ["Once upon"]
        await agent.run_command("go on")
        await at.idle(agent)
        assert "Your reply before this was cut off" in (await said(agent))[2]


def compacting(request: Request, heard: str) -> Planned:
    if heard.startswith("Summarise"):
        return "Herons were told of."
    if heard == "tidy up":
        return slash("compact")
    return "tidied" if heard.startswith("This takes effect") else "Of herons. " * 50


async def test_a_model_compacts_itself_when_its_turn_ends() -> None:
    async with house(compacting) as at:
        agent = await at.db.start(model="planned")
        for prompt in ("tell me of herons", "tidy up"):
            await agent.run_command(prompt)
            await at.idle(agent)
        texts = await said(agent)
        assert len(texts) == 2
        assert "Herons were told of." in texts[0]
        assert texts[1].endswith("tidy up")
        seen = await agent.replay()
        assert seen.matches
        assert seen.request.messages[-2].text == "tidied"


class SentModel(FakeModel):
    """A model that keeps the tools and the parameters of every call."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.sent: list[tuple[list[str], Mapping[str, object]]] = []

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        self.sent.append(([tool.name for tool in tools], params or {}))
        async for piece in super().stream(request, tools, params=params):
            yield piece


class TwoTools(NoTools):
    async def specs(self) -> Sequence[ToolSpec]:
        return ToolSpec("look", "Looks.", "{}"), ToolSpec("fly", "Flies.", "{}")


LIMITED = TurnParams(
    effort="low",
    max_tokens=2_000,
    output_schema='{"type":"object"}',
    tools=("slash", "look"),
    parallel_tool_calls=False,
)


async def test_a_summary_is_asked_for_with_the_tools_and_the_thinking_of_the_turns() -> None:
    def plan(_: Request, heard: str) -> Planned:
        return "Herons were told of." if heard.startswith("Summarise") else "Of herons. " * 50

    model = SentModel(plan)
    async with house(plan, tools=TwoTools(), model=model) as at:
        agent = await at.db.start(model="planned")
        await agent.configure(params=LIMITED)
        await agent.run_command("tell me of herons")
        await at.idle(agent)
        await at.running.compact(agent.id, anyway=True)
    (tools, asked), (same, summarised) = model.sent
    assert tools == same == ["slash", "look"]
    assert asked["max_tokens"] == 2_000
    assert summarised == {"thinking": "low", "parallel_tool_calls": False}


async def test_a_model_that_compacts_itself_is_asked_with_the_parameters_of_its_turn() -> None:
    model = SentModel(compacting)
    async with house(compacting, tools=TwoTools(), model=model) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("tell me of herons")
        await at.idle(agent)
        await agent.ask("tidy up", params=TurnParams(effort="high", tools=("slash",)))
    assert model.sent[-1] == (["slash"], {"thinking": "high"})
    assert model.requests[-1].messages[-1].text.startswith("Summarise")


async def test_a_summary_that_cannot_be_had_ends_the_turn_all_the_same() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard.startswith("Summarise"):
            raise Failure("overloaded", "Busy.")
        return compacting(request, heard)

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("tidy up")
        await at.idle(agent)
        assert await said(agent) == ["tidy up", "tidied"]


async def test_a_summary_that_was_cut_off_is_not_used() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return cut(Text("Herons")) if heard.startswith("Summarise") else compacting(request, heard)

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("tell me of herons")
        await at.idle(agent)
        with pytest.raises(Failure, match="did not finish its summary"):
            await at.running.compact(agent.id)
        assert (await said(agent))[0] == "tell me of herons"


async def test_compact_takes_only_a_number_to_keep() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return slash("compact", "--kepe 2") if heard == "tidy up" else heard

    async with house(plan) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("tidy up")
        await at.idle(agent)
        assert "/compact [--keep N]" in (await said(agent))[-1]


async def test_a_long_result_is_recalled_piece_by_piece() -> None:
    whole = "".join(f"{number:06}\n" for number in range(10_000))

    def plan(request: Request, heard: str) -> Planned:
        if heard == "read":
            return ToolCall("1", "read")
        more = re.search(r"recall (\S+) (?:shows|goes on)", heard)
        return slash("recall", more[1]) if more else "read"

    class Reader(NoTools):
        async def run(self, use: ToolUse) -> ToolOutcome:
            return ToolOutcome(whole)

    async with house(plan, tools=Reader()) as at:
        agent = await at.db.start(model="planned")
        await agent.run_command("read")
        await at.idle(agent)
        shown, *pieces = [
            part.content
            for message in (await agent.request()).messages
            for part in message.parts
            if isinstance(part, ToolResult)
        ]
        start = shown.index("\n[")
        rest = "".join(piece.partition("\n[")[0] for piece in pieces)
        assert shown[:start] + rest == whole


async def test_a_signature_is_kept_as_it_is_whatever_it_looks_like() -> None:
    """A provider takes its thinking back only with the signature that it gave."""
    sealed = "sk-ant-api03-" + "abcDEF0123456789" * 6
    thought = Thinking("The key is in the file.", "planned", sealed)
    assert await _sent_back(thought, sealed) == thought


async def test_thinking_that_holds_a_secret_is_masked_and_goes_without_its_signature() -> None:
    """The signature holds for the text that was signed, and that text is not stored."""
    sealed = "sk-ant-api03-" + "abcDEF0123456789" * 6
    thought = Thinking(f"The key is {sealed}.", "planned", "c2ln")
    masked = Thinking("The key is [secret: anthropic-key …6789].", "planned", "")
    assert await _sent_back(thought, sealed) == masked


async def _sent_back(thought: Thinking, secret: str) -> object:
    """What the model is sent of its own thinking with the next prompt."""

    def plan(request: Request, heard: str) -> Planned:
        return Answer((thought, Text("Hello.")), request.model)

    async with house(plan, secrets={"planned": secret}) as at:
        agent = await at.db.start(model="planned")
        for prompt in ("one", "two"):
            await agent.run_command(prompt)
            await at.idle(agent)
        return at.model.requests[-1].messages[1].parts[0]


async def test_an_answer_that_comes_after_the_interrupt_is_nobody_elses() -> None:
    """Not even when the next prompt is there before the driver has heard of the interrupt."""
    async with house(lambda request, heard: f"heard {heard}", thinks_for=0.05) as at:
        agent = await at.db.start(model="planned")
        for number in range(5):
            await agent.run_command(f"ask {number}")
            await at.model.asked.wait()
            at.model.asked.clear()
            with suppress(RefusedError):
                await agent.interrupt()
            await agent.run_command(f"then {number}")
            await at.idle(agent)
            assert (await said(agent))[-1] == f"heard then {number}"


async def test_a_value_of_the_worker_that_cannot_be_stored_ends_its_drive() -> None:
    async with house(lambda request, heard: "Hello.") as home:
        agent = await home.db.start("demo", model="planned")
        wrong = FailTurn(AgentId(agent.id), 5)  # type: ignore[arg-type]
        for dispatch in (dispatch_in_turn, insist_in_turn):
            with pytest.raises(AssertionError, match="a bug in Sapwood: 'error' must be text"):
                await dispatch(agent.connection.dispatcher, wrong)
