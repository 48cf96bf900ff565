"""What providers offer besides replies, used by running agents: caches, reports, counts, summaries.

Each is sent where the provider has it and nowhere else: the server rejects what the APIs reject.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.conversation.timeline_reader import read_conversation
from sapwood.core.content import Text
from sapwood.core.event_texts import notice
from sapwood.core.events import (
    CallReported,
    ContextSummarized,
    ContextTrimmed,
    ModelCalled,
    ReplyAdded,
    SummaryDropped,
)
from sapwood.core.model_calls import CallHints, Failure
from sapwood.core.refusals import Refusal, SummaryLacking
from sapwood.core.view import Message, Request
from sapwood.core.view.request import SignedSummary
from sapwood.engine.local_engine import LocalEngine
from sapwood.models import Models
from sapwood.testing import NoTools
from scripted_model import ModelRequest, ReplyLike, ScriptedModel, think
from scripted_model.wires.wire import Shape
from tests.models.conversation import MODELS, TOOLS, ask, collect, every_wire, open_models

CLAUDE = "anthropic:claude-opus-5-5"
LONG = "timber " * 800
DECISION = "Use oak instead of pine for the granary."
SUMMARY = "They use oak instead of pine for the granary: timber. Question 0 to 3 were answered."


class Home(Struct):
    """Running agents whose models are a scripted server."""

    db: Sapwood
    running: AgentRunner
    server: ScriptedModel

    async def say(self, agent: Agent, *texts: str) -> None:
        """Runs each prompt and waits until its turn has ended."""
        for text in texts:
            await agent.run_command(text)
            async for _ in self.running.watch(agent.id, 0):
                if (await agent.state()).open is None:
                    break

    async def talked(self, model: str, turns: int = 4) -> Agent:
        """An agent after some turns, each with thinking."""
        agent = await self.db.start(model=model, system="Build in wood.")
        await self.say(agent, *(f"{DECISION} Question {turn}?" for turn in range(turns)))
        return agent

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests for a reply or a summary."""
        return [
            logged.body
            for logged in self.server.requests
            if isinstance(logged.body, dict) and not logged.counts
        ]


def answering(request: ModelRequest) -> ReplyLike:
    if request.wants_compaction:
        return SUMMARY
    return [think(f"A thought about {len(request.messages)} messages."), LONG]


@asynccontextmanager
async def home(
    server: ScriptedModel,
    script: Callable[[ModelRequest], ReplyLike] = answering,
    secrets: dict[str, str] | None = None,
) -> AsyncGenerator[Home]:
    server.script(script)
    connection = await connect(":memory:")
    async with open_models(server.url) as models:
        running = AgentRunner(connection, LocalEngine(), models, NoTools(), secrets)
        await running.start()
        try:
            yield Home(Sapwood(connection), running, server)
        finally:
            await running.close()
            await connection.close()
    assert server.rejections == []


async def reported(agent: Agent) -> list[CallReported]:
    return [each.event for each in await agent.events() if isinstance(each.event, CallReported)]


# The cache


@every_wire
async def test_the_agent_is_the_key_of_its_cache(server: ScriptedModel, model: str) -> None:
    async with home(server) as at:
        agent = await at.talked(model, 2)
        keys = {body.get("prompt_cache_key") for body in at.bodies}
        assert keys == ({agent.id} if "openai" in model else {None})


async def test_a_fork_has_the_key_of_the_turns_that_it_inherits(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS["responses"], 2)
        child = await agent.fork()
        await at.say(child, "And you?")
        assert at.bodies[-1]["prompt_cache_key"] == agent.id
        await child.clear()
        await at.say(child, "And now?")
        assert at.bodies[-1]["prompt_cache_key"] == child.id


def marks(body: dict[str, Any]) -> set[str]:
    return {body["cache_control"]["ttl"], body["system"][-1]["cache_control"]["ttl"]}


async def test_pauses_between_turns_choose_how_long_the_cache_lives(
    server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = 0

    def time_ns() -> int:
        return time.time_ns() + slept * 10**9

    monkeypatch.setattr("sapwood.turns.clock_and_ids.time", SimpleNamespace(time_ns=time_ns))
    async with home(server) as at:
        agent = await at.talked(CLAUDE, 2)
        assert [marks(body) for body in at.bodies] == [{"5m"}, {"5m"}]
        slept += 12 * 60
        await at.say(agent, "I am back.")
        assert marks(at.bodies[-1]) == {"1h"}
        usage = (await agent.state()).spent
        assert usage.cache_write > usage.cache_hour > 0
        slept += 6 * 3_600
        await at.say(agent, "Good morning.")
        assert marks(at.bodies[-1]) == {"1h"}
        slept += 6 * 3_600
        await at.say(agent, "Good evening.")
        assert marks(at.bodies[-1]) == {"5m"}


# Reports


@pytest.mark.parametrize("wire", ["messages", "responses"])
async def test_a_cache_is_missed_only_after_a_context_event(
    server: ScriptedModel, wire: str
) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS[wire])
        assert await reported(agent) == []
        await agent.clear(2)
        await at.say(agent, "And now?", "And then?")
        (report,) = await reported(agent)
        assert report.missed > 1_000
        assert report.missed_why in ("messages_changed", "input_changed")
        assert report.command == "/clear 2"
        await agent.configure(system="Build in stone.")
        await at.say(agent, "And today?")
        assert [each.command for each in await reported(agent)] == ["/clear 2", ""]


@pytest.mark.parametrize("wire", ["chat", "gemini", "compatible"])
async def test_other_apis_are_asked_for_no_report(server: ScriptedModel, wire: str) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS[wire])
        await agent.clear(2)
        await at.say(agent, "And now?")
        assert await reported(agent) == []


async def test_a_trim_says_how_many_thoughts_it_cost(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS["messages"])
        await agent.clear(2)
        await at.say(agent, "And now?", "And then?")
        (report,) = await reported(agent)
        assert (report.dropped, report.dropped_why) == (2, "prefix_binding_mismatch")
        sign, words = notice(report)
        assert sign == "⚠"
        assert words.startswith(
            "After /clear 2, the provider left out 2 earlier thoughts: what came before them"
        )
        held = at.db.connection
        rows = (await read_conversation(held.log, held.space, agent.id)).rows
        assert sum(words in str(row.content) for row in rows) == 1
        await agent.undo()
        await at.say(agent, "And before?")
        assert [each.command for each in await reported(agent)] == ["/clear 2", "/undo"]


async def test_a_reply_has_the_id_of_its_provider(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS["messages"], 2)
        ids = [e.event.response for e in await agent.events() if isinstance(e.event, ReplyAdded)]
        assert [body["diagnostics"]["previous_message_id"] for body in at.bodies] == [None, ids[0]]


async def test_a_switch_of_providers_compares_nothing(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent = await at.talked(MODELS["messages"], 1)
        await agent.configure(model=MODELS["responses"])
        await at.say(agent, "And now?")
        assert "prompt_cache_options" not in at.bodies[-1]


@pytest.mark.parametrize(
    ("wire", "place", "field"),
    [
        ("messages", "anthropic", "diagnostics"),
        ("responses", "responses", "prompt_cache_key"),
        ("chat", "chat", "prompt_cache_key"),
    ],
)
async def test_a_server_that_does_not_know_a_field_gets_it_once(
    server: ScriptedModel, monkeypatch: pytest.MonkeyPatch, wire: str, place: str, field: str
) -> None:
    module = import_module(f"scripted_model.wires.{place}.validation")
    older = Shape(module.fields.TOP.allowed - {field}, module.fields.TOP.required)
    monkeypatch.setattr(module.fields, "TOP", older)
    if wire == "responses":
        monkeypatch.setattr(module, "_FORMS", {**module._FORMS, "reply": older})
    request = ask(MODELS[wire], "Hello.")
    async with open_models(server.url) as models:
        for _ in range(2):
            async for _ in models.stream(request, hints=CallHints("agent")):
                pass
    assert [field in str(logged.body) for logged in server.requests] == [True, False, False]


# Counting


@pytest.mark.parametrize("wire", MODELS)
async def test_a_provider_counts_exactly_if_it_has_an_endpoint(
    server: ScriptedModel, models: Models, wire: str
) -> None:
    counted = await models.count(ask(MODELS[wire], LONG), TOOLS)
    assert server.rejections == []
    if wire in ("chat", "compatible"):
        assert counted is None
        assert server.requests == []
    else:
        assert counted is not None
        assert counted > 1_000


async def test_a_count_that_fails_is_none(server: ScriptedModel) -> None:
    async with open_models(server.url, keys={}) as models:
        assert await models.count(ask(CLAUDE, "a")) is None
    async with open_models("http://127.0.0.1:1") as models:
        assert await models.count(ask(CLAUDE, "a")) is None


async def test_a_compaction_counts_what_leaves(server: ScriptedModel) -> None:
    def script(request: ModelRequest) -> ReplyLike:
        return SUMMARY if "Summarise" in request.prompt else answering(request)

    async with home(server, script) as at:
        for model, exact in ((CLAUDE, True), (MODELS["chat"], False)):
            agent = await at.talked(model)
            assert not isinstance(await at.running.compact(agent.id, 1, anyway=True), Refusal)
            (trim,) = [e.event for e in await agent.events() if isinstance(e.event, ContextTrimmed)]
            assert trim.exact is exact
            assert trim.tokens > 3_000


# Summaries by the provider


async def compacted(at: Home, keep: int = 1, model: str = CLAUDE) -> tuple[Agent, Request]:
    """An agent whose provider has written a summary, and its request before that."""
    agent = await at.talked(model)
    await agent.run_command("/config provider_summary true")
    before = await agent.request()
    done = await at.running.compact(agent.id, keep)
    assert not isinstance(done, Refusal), done.sentence
    return agent, before


async def summaries(agent: Agent) -> list[ContextSummarized]:
    return [e.event for e in await agent.events() if isinstance(e.event, ContextSummarized)]


@pytest.mark.parametrize("keep", [0, 1, 2])
async def test_a_provider_writes_the_summary_and_kept_thinking_stays_valid(
    server: ScriptedModel, keep: int
) -> None:
    async with home(server) as at:
        agent, _ = await compacted(at, keep)
        asked = at.bodies[-1]
        assert asked["compaction"]["type"] == "summarize"
        assert asked["messages"] == at.bodies[3]["messages"][: 2 * (4 - keep)] or keep == 0
        (summary,) = await summaries(agent)
        assert (summary.text, summary.signer) == (SUMMARY, "anthropic")
        assert summary.score is not None
        assert summary.score >= 0.6
        assert bool(summary.ledger) == (keep == 0)
        await at.say(agent, "And now?")
        first = at.bodies[-1]["messages"][0]["content"][0]
        assert (first["type"], first["content"]) == ("compaction", SUMMARY)
        assert [each.dropped for each in await reported(agent)] in ([], [0])
        for recorded in await agent.events():
            if isinstance(recorded.event, ModelCalled):
                assert (await agent.replay(recorded.version)).matches


async def test_undo_brings_the_turns_back_exactly(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent, before = await compacted(at)
        assert await agent.request() != before
        await agent.undo()
        assert await agent.request() == before
        await at.say(agent, "And now?")
        assert "compaction" not in str(at.bodies[-1]["messages"][0])


async def test_a_second_summary_replaces_the_first(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent, _ = await compacted(at)
        await at.say(agent, "And now?", "And then?")
        assert not isinstance(await at.running.compact(agent.id, 1), Refusal)
        await at.say(agent, "And at last?")
        assert len(await summaries(agent)) == 2
        assert str(at.bodies[-1]["messages"]).count("'compaction'") == 1


async def test_another_provider_gets_the_summary_as_text(server: ScriptedModel) -> None:
    async with home(server) as at:
        agent, _ = await compacted(at)
        for model in (MODELS["responses"], MODELS["gemini"], MODELS["messages"]):
            await agent.configure(model=model)
            await at.say(agent, "And now?")
            assert SUMMARY in str(at.bodies[-1])
            assert "signature" not in str(at.bodies[-1].get("messages", [""])[0])


async def test_a_weak_summary_of_a_provider_is_repaired_or_refused(server: ScriptedModel) -> None:
    written = ["Nothing.", SUMMARY, "Nothing.", "Nothing."]

    def script(request: ModelRequest) -> ReplyLike:
        return written.pop(0) if request.wants_compaction else answering(request)

    async with home(server, script) as at:
        agent, _ = await compacted(at)
        assert (await summaries(agent))[0].text == SUMMARY
        assert "Your summary lacks" in at.bodies[-1]["compaction"]["instructions"]
        await at.say(agent, "Which carpenter comes?", "And then?")
        before = await agent.request()
        assert isinstance(await at.running.compact(agent.id, 1), SummaryLacking)
        assert await agent.request() == before
        dropped = [e.event for e in await agent.events() if isinstance(e.event, SummaryDropped)]
        assert dropped[0].usage.input > 0


async def test_no_summary_changes_nothing(server: ScriptedModel) -> None:
    def script(request: ModelRequest) -> ReplyLike:
        return think("Hm.") if request.wants_compaction else answering(request)

    async with home(server, script) as at:
        agent = await at.talked(CLAUDE)
        await agent.run_command("/config provider_summary true")
        before = await agent.request()
        with pytest.raises(Failure, match="provider_summary false"):
            await at.running.compact(agent.id)
        assert await agent.request() == before


async def test_a_provider_that_writes_no_summaries_is_not_asked(server: ScriptedModel) -> None:
    def script(request: ModelRequest) -> ReplyLike:
        return SUMMARY if "Summarise" in request.prompt else answering(request)

    async with home(server, script) as at:
        for model in (MODELS["responses"], MODELS["messages"]):
            agent, _ = await compacted(at, model=model)
            assert (await summaries(agent))[0].signer == ""


async def test_a_masked_summary_is_text(server: ScriptedModel) -> None:
    def script(request: ModelRequest) -> ReplyLike:
        return f"{SUMMARY} hunter2-hunter2" if request.wants_compaction else answering(request)

    async with home(server, script, {"PASSWORD": "hunter2-hunter2"}) as at:
        agent, _ = await compacted(at)
        (summary,) = await summaries(agent)
        assert "hunter2" not in summary.text
        assert summary.signature == ""
        await at.say(agent, "And now?")


async def test_a_summary_that_is_not_taken_back_is_sent_as_text(server: ScriptedModel) -> None:
    signed = SignedSummary("[Summary]\nTimber.", "Timber.", "anthropic", "of another account")
    request = Request(CLAUDE, (), (Message("user", (signed, Text("And now?"))),))
    async with open_models(server.url) as models:
        await collect(models, request)
    refused, taken = server.requests
    assert "compaction" in str(refused.body)
    assert "[Summary]\\nTimber." in str(taken.body)
    assert [each.code for each in server.rejections] == ["compaction_signature_invalid"]
