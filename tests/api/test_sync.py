"""The face without `await`: the same words, the same types, and Ctrl-C."""

import asyncio
import gc
import inspect
import signal
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import assert_type

import pytest

import sapwood
from sapwood import (
    Agent,
    AgentSummary,
    Budget,
    LogError,
    Outcome,
    Recorded,
    RefusedError,
    Replayed,
    Request,
    Sapwood,
    SearchHit,
    SyncAgent,
    SyncSapwood,
    SyncTurnRecorder,
    TailedEvent,
    ToolCall,
    TurnRecorder,
)
from sapwood.api.results import Marked
from sapwood.api.sync import _sync  # pyright: ignore[reportPrivateUsage]
from sapwood.core.ids import AgentId


@pytest.fixture
def db(address: str) -> Iterator[SyncSapwood]:
    """The test's database, open."""
    with sapwood.open_sync(address) as opened:
        yield opened


@pytest.fixture
def agent(db: SyncSapwood) -> SyncAgent:
    """An agent that has said nothing yet."""
    return db.start("demo", model="scripted")


def kinds(agent: SyncAgent) -> list[str]:
    return [recorded.kind for recorded in agent.events()]


def said(agent: SyncAgent) -> list[str]:
    return [message.text for message in agent.request().messages]


@pytest.fixture(autouse=True)
def sigint_is_handled() -> Generator[None]:
    """A shell that starts the tests in the background makes them ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c() -> None:
    """What the terminal does: the signal reaches the main thread, whatever it waits for."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def test_a_script_tells_a_whole_story(db: SyncSapwood, agent: SyncAgent) -> None:
    agent.record("one", "1")
    agent.mark("ONE")
    with agent.turn("two") as turn:
        sent = turn.call()
        turn.reply(calls=[ToolCall("1", "count")])
        turn.started("1")
        turn.result("1", "2")
        turn.reply("2")
    child = agent.fork("ONE", goal="three")
    with child.turn() as turn:
        turn.reply("3")
    child.send(agent, "Done.")
    assert said(child)[-2].endswith("three")
    assert said(child)[-1] == "3"
    assert "\nDone.\n" in agent.read_mail().message
    assert agent.replay().request == sent
    assert len(agent.diff("ONE").only_right) == 1
    agent.rewind("ONE")
    assert said(agent) == ["one", "1"]
    agent.undo()
    assert {hit.ref.agent for hit in db.search("three")} == {agent.id, child.id}
    assert repr(agent) == f"SyncAgent('{agent.id}')"


def test_a_database_is_resumed_by_the_next_script(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    with sapwood.open_sync(path) as db:
        db.start("demo").record("one", "1")
    with sapwood.open_sync(path) as db:
        assert said(db.find("demo")) == ["one", "1"]


def test_an_exception_fails_the_turn(agent: SyncAgent) -> None:
    with pytest.raises(KeyError), agent.turn("one"):
        raise KeyError("city")
    assert kinds(agent)[-1] == "turn.failed"


def test_ctrl_c_in_a_turn_interrupts_it(agent: SyncAgent) -> None:
    with pytest.raises(KeyboardInterrupt), agent.turn("one"):
        press_ctrl_c()
    assert kinds(agent)[-1] == "turn.interrupted"
    agent.record("two", "2")


def test_ctrl_c_ends_a_wait_for_news_and_nothing_else(agent: SyncAgent) -> None:
    news = agent.follow()
    assert next(news).kind == "agent.started"

    def wait() -> Recorded:
        threading.Timer(0.05, press_ctrl_c).start()
        return next(news)

    with pytest.raises(KeyboardInterrupt):
        wait()
    agent.record("one", "1")
    assert kinds(agent) == ["agent.started", "turn.recorded"]


async def wait_for_a_model(agent: Agent) -> None:
    async with agent.turn("one"):
        press_ctrl_c()
        await asyncio.Event().wait()


def test_ctrl_c_comes_back_when_what_it_stopped_has_been_put_away(
    agent: SyncAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SyncAgent, "archive", _sync(wait_for_a_model))
    with pytest.raises(KeyboardInterrupt):
        agent.archive()
    assert kinds(agent)[-1] == "turn.interrupted"


def test_following_gives_what_was_and_ends_when_it_is_left(agent: SyncAgent) -> None:
    agent.mark("A")
    for recorded in agent.follow(after=1):
        assert recorded.kind == "mark.set"
        break


async def collect_garbage(_: Agent) -> None:
    gc.collect()


class Watcher:
    """What only the garbage collector frees: it refers to itself."""

    def __init__(self, agent: SyncAgent) -> None:
        self.me = self
        self.news = agent.follow()
        next(self.news)


def test_garbage_is_collected_in_the_thread_of_the_loop(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SyncAgent, "archive", _sync(collect_garbage))
    collected: list[str] = []

    def collect() -> None:
        with sapwood.open_sync(address) as db:
            agent = db.start("demo", model="scripted")
            Watcher(agent)
            agent.archive()
            collected.extend(kinds(agent))

    gc.disable()
    try:
        thread = threading.Thread(target=collect, daemon=True)
        thread.start()
        thread.join(30)
    finally:
        gc.enable()
    assert collected == ["agent.started"]
    assert not thread.is_alive()


def test_a_tail_is_read_like_a_list(db: SyncSapwood, agent: SyncAgent) -> None:
    agent.mark("A")
    tail = db.tail()
    assert [next(tail).recorded.kind for _ in range(2)] == ["agent.started", "mark.set"]


def test_what_is_used_after_its_database_was_closed_says_so(address: str) -> None:
    with sapwood.open_sync(address) as db:
        agent = db.start("demo")
        news = agent.follow()
        next(news)
    with pytest.raises(LogError, match="The database is closed"):
        agent.record("one", "1")
    with pytest.raises(LogError, match="The database is closed"):
        next(news)


def test_refusals_are_raised_as_they_are(agent: SyncAgent) -> None:
    with pytest.raises(RefusedError, match="no mark to rewind to"):
        agent.rewind()


def test_two_databases_are_open_side_by_side(tmp_path: Path) -> None:
    with sapwood.open_sync(tmp_path / "a.db") as a, sapwood.open_sync(tmp_path / "b.db") as b:
        a.start("only here")
        assert (len(a.agents()), len(b.agents())) == (1, 0)


@pytest.mark.parametrize(
    ("plain", "awaited"),
    [(SyncAgent, Agent), (SyncSapwood, Sapwood), (SyncTurnRecorder, TurnRecorder)],
)
def test_every_method_is_there_with_its_signature_and_its_docstring(
    plain: type, awaited: type
) -> None:
    for name, method in inspect.getmembers(awaited, inspect.isfunction):
        if name.startswith("_") or name == "close":  # which `with` does
            continue
        twin = getattr(plain, name)
        names = list(inspect.signature(method).parameters)
        assert list(inspect.signature(twin).parameters) == names, name
        said = (method.__doc__ or "").replace("async with", "with").replace("await ", "")
        assert said.startswith((twin.__doc__ or "").replace("await ", "").split(">>>")[0]), name


def test_types_are_those_of_the_awaited_methods(db: SyncSapwood, agent: SyncAgent) -> None:
    assert_type(agent.id, AgentId)
    assert_type(agent.mark("A"), Marked)
    assert_type(agent.fork("A", goal="one", name="child"), SyncAgent)
    assert_type(agent.run_command("/mark B"), list[Outcome])
    assert_type(agent.request(), Request)
    assert_type(agent.budget(), Budget)
    assert_type(agent.events(1, 2, limit=1), list[Recorded])
    assert_type(agent.follow(), Iterator[Recorded])
    assert_type(db.tail(), Iterator[TailedEvent])
    assert_type(db.search("one"), list[SearchHit])
    assert_type(db.agents(parent=agent.id), list[AgentSummary])
    assert_type(db.find("demo"), SyncAgent)
    with agent.turn("one") as turn:
        assert_type(turn, SyncTurnRecorder)
        assert_type(turn.call("gpt-5", params={"seed": 1}), Request)
        turn.reply("1", model="gpt-5")
    assert_type(agent.replay(), Replayed)
    assert_type(agent.new(), SyncAgent)
