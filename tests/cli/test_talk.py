"""Talking to agents: prompts are attended to, scripts played, and everything can be stopped."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct, field

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.app.permission_questions import PermissionQuestions, all_waiting_questions
from sapwood.cli.exit_codes import Exit
from sapwood.cli.run.model_script_player import ModelScriptPlayer
from sapwood.cli.run.run_output import RunSummary
from sapwood.cli.run.script_player import StepResult
from sapwood.cli.run.stop_request import StopRequest
from sapwood.conversation.call import Services
from sapwood.conversation.script import Script, TextStep, parse
from sapwood.conversation.service import ConversationService
from sapwood.core.content import Text, ToolCall
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.refusals import Refusal
from sapwood.core.view import Request
from sapwood.engine.local_engine import LocalEngine
from sapwood.testing import FakeModel, NoTools, slash
from sapwood.testing.fake_model import Plan
from sapwood.turns.driver import Driver
from sapwood.turns.model_access import ModelAccess
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox


class Shown(Struct):
    """Remembers what a talk showed."""

    pieces: list[str]
    kinds: list[str]
    answers: list[str]
    notes: list[str]
    noted: asyncio.Event = field(default_factory=asyncio.Event)

    def delta(self, agent: AgentId, delta: Delta) -> None:
        self.pieces.append(delta.text)

    def event(self, recorded: Recorded) -> None:
        self.kinds.append(recorded.kind)

    def answer(self, line: str, answer: str) -> None:
        self.answers.append(answer)

    def note(self, words: str) -> None:
        self.notes.append(words)
        self.noted.set()

    def end(self, summary: RunSummary) -> None:
        raise AssertionError("a talk does not end a run")


class At(Struct):
    """A talk with an agent, and all that it stands on."""

    db: Sapwood
    agent: Agent
    talk: ModelScriptPlayer
    stop: StopRequest
    shown: Shown

    async def play(self, submission: str) -> StepResult:
        return await self.talk.play(script(submission))


class Halting:
    """A model that says a few words and then nothing more."""

    def __init__(self) -> None:
        self.halted = asyncio.Event()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        yield Delta("text", "The first ")
        yield Delta("text", "words")
        self.halted.set()
        await asyncio.Event().wait()

    def window_of(self, model: str) -> int | None:
        return None


def script(submission: str) -> Script:
    parsed = parse(submission)
    assert not isinstance(parsed, Refusal)
    return parsed


@asynccontextmanager
async def talking(model: Plan | ModelAccess) -> AsyncGenerator[At]:
    connection = await connect(":memory:")
    access = FakeModel(model) if callable(model) else model
    running = AgentRunner(connection, LocalEngine(retry_after=(0, 0, 0)), access, NoTools())
    db, stop, shown = Sapwood(connection), StopRequest(), Shown([], [], [], [])
    agent = await db.start("demo", model="planned")
    service = ConversationService(Services(connection, compact=running.compact))
    await running.start()
    try:
        async with asyncio.timeout(60):
            yield At(
                db, agent, ModelScriptPlayer(running, agent.id, service, shown, stop), stop, shown
            )
    finally:
        await running.close()
        await connection.close()


async def texts(agent: Agent) -> list[str]:
    return [message.text for message in (await agent.request()).messages]


async def test_a_prompt_is_attended_to_until_its_turn_ends() -> None:
    async with talking(lambda _, heard: f"heard {heard}") as at:
        assert (await at.play("Hello!")).exit == Exit.OK
        assert at.shown.pieces == ["heard Hello!"]
        assert at.shown.kinds[0] == "turn.started"
        assert at.shown.kinds[-1] == "turn.completed"


async def test_each_text_of_a_script_waits_for_its_answer() -> None:
    async with talking(lambda _, heard: f"heard {heard}") as at:
        ended = await at.play("One.\n/mark A\nTwo.\n/rewind A\nThree.")
        assert ended.exit == Exit.OK
        assert at.shown.pieces == ["heard One.", "heard Two.", "heard Three."]
        assert at.shown.answers == ["Marked 'A'.", "Rewound to 'A'. 1 turn removed from view."]
        assert await texts(at.agent) == ["One.", "heard One.", "Three.", "heard Three."]


async def test_a_script_goes_on_with_the_agent_that_it_switches_to() -> None:
    async with talking(lambda _, heard: f"heard {heard}") as at:
        other = await at.db.start("other", model="planned")
        await at.play("/switch other\nHello!")
        assert await texts(other) == ["Hello!", "heard Hello!"]
        assert at.talk.agent == other.id


async def test_a_script_goes_on_with_the_successor() -> None:
    async with talking(lambda _, heard: f"heard {heard}") as at:
        await at.play("One.\n/new\nTwo.")
        assert at.talk.agent != at.agent.id
        fresh = await at.db.find(at.talk.agent)
        assert await texts(fresh) == ["Two.", "heard Two."]


async def test_a_script_ends_at_exit() -> None:
    async with talking(lambda _, heard: "yes") as at:
        assert (await at.play("/mark A\n/exit\n/mark B")).exit == Exit.OK
        assert at.shown.answers == ["Marked 'A'."]


async def test_a_refused_step_ends_the_script() -> None:
    async with talking(lambda _, heard: "yes") as at:
        with pytest.raises(RefusedError, match="NOWHERE"):
            await at.play("/rewind NOWHERE\nHello!")
        assert at.shown.kinds == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [("bad_key", Exit.NO_MODEL), ("no_network", Exit.UNREACHABLE), ("refused", Exit.FAILED)],
)
async def test_a_failed_turn_ends_with_the_code_of_its_reason(kind: str, code: Exit) -> None:
    def fail(request: Request, heard: str) -> str:
        raise Failure(kind, "It did not work.")  # pyright: ignore[reportArgumentType] # a literal

    async with talking(fail) as at:
        ended = await at.play("Hello!\n/mark NEVER")
        assert (ended.exit, ended.problem) == (code, "It did not work.")
        assert at.shown.answers == []


async def test_stopping_keeps_the_words_that_were_said() -> None:
    model = Halting()
    async with talking(model) as at:
        playing = asyncio.ensure_future(at.play("Hello!\n/mark NEVER"))
        await model.halted.wait()
        at.stop.request(Exit.TIMED_OUT, "after 3 seconds")
        ended = await playing
        assert ended.exit == Exit.TIMED_OUT
        assert "kept" in ended.problem
        turns = await texts(at.agent)
        assert turns[0] == "Hello!"
        assert turns[1] == "The first words"
        assert (await at.agent.state()).open is None
        assert at.shown.answers == []


async def test_a_turn_that_somebody_else_interrupts_ends_as_interrupted() -> None:
    model = Halting()
    async with talking(model) as at:
        playing = asyncio.ensure_future(at.play("Hello!"))
        await model.halted.wait()
        await at.agent.interrupt("enough")
        ended = await playing
        assert (ended.exit, ended.problem) == (
            Exit.INTERRUPTED,
            "The turn was interrupted: enough.",
        )


async def test_a_turn_that_was_left_open_goes_on() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("demo", model="planned")
    await agent.run_command("Hello!")
    running = AgentRunner(connection, LocalEngine(), FakeModel(lambda _, __: "yes"), NoTools())
    await running.start()
    shown = Shown([], [], [], [])
    talk = ModelScriptPlayer(
        running, agent.id, ConversationService(Services(connection)), shown, StopRequest()
    )
    assert await talk.has_open_turn()
    assert (await talk.resume()).exit == Exit.OK
    assert await texts(agent) == ["Hello!", "yes"]
    await running.close()
    await connection.close()


async def test_a_script_does_not_wait_for_an_answer_that_another_process_asks_for(
    tmp_path: Path,
) -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("demo", model="planned", folder=str(tmp_path))
    write = ToolCall("1", "write_file", '{"path": "a.txt", "content": "x"}')
    asking = PermissionQuestions(connection)  # as a server does on the same database
    toolbox = WorkspaceToolbox(PermissionGate(approve=asking.ask))
    running = AgentRunner(connection, LocalEngine(), FakeModel(lambda _, __: write), toolbox)
    await running.start()
    service, shown = ConversationService(Services(connection)), Shown([], [], [], [])
    talk = ModelScriptPlayer(running, agent.id, service, shown, StopRequest())
    async with asyncio.timeout(60):
        ended = await talk.prompt(TextStep("Write it."))
        again = await talk.resume()
    [posted] = await all_waiting_questions(connection)
    assert ended.exit == again.exit == Exit.BLOCKED
    assert f"sapwood answer {posted.id} yes" in ended.problem
    await running.close()
    await connection.close()


async def test_children_are_waited_for() -> None:
    def plan(request: Request, heard: str) -> str:
        return f"heard {heard}"

    async with talking(plan) as at:
        await at.play("/mark T\nFind the leak.\n/fork T")
        assert (await at.talk.wait_for_descendants()).exit == Exit.OK
        (child,) = await at.db.agents(parent=at.agent.id)
        assert not child.working
        prompt, answer = await texts(await at.db.find(child.agent))
        assert prompt.startswith("[You are a child agent. Your parent is the agent 'demo'. ")
        assert prompt.endswith("Find the leak.")
        assert answer == "heard Find the leak."


async def test_a_child_that_was_faster_is_named_too_and_one_without_a_goal_is_not() -> None:
    async with talking(lambda _, __: "Done.") as at:
        await at.play("/fork -- Find the leak.\n/fork")
        async with asyncio.timeout(120):
            while await at.talk._working():  # noqa: ASYNC110 # pyright: ignore[reportPrivateUsage]
                await asyncio.sleep(0.01)
        assert (await at.talk.wait_for_descendants()).exit == Exit.OK
        busy, _ = at.talk.forked
        assert at.shown.notes == [f"{busy} is done. To read it, type: sapwood show {busy}"]


async def test_children_are_stopped_with_everything_else() -> None:
    async with talking(Halting()) as at:
        await at.play("/fork -- Find the leak.")
        resting = asyncio.ensure_future(at.talk.wait_for_descendants())
        await at.shown.noted.wait()
        at.stop.request(Exit.INTERRUPTED, "by the user")
        assert (await resting).exit == Exit.INTERRUPTED
        (child,) = await at.db.agents(parent=at.agent.id)
        assert not child.working


async def test_a_child_that_a_model_makes_is_waited_for() -> None:
    def plan(request: Request, heard: str) -> object:
        if heard == "Delegate it.":
            return slash("fork", "-- Find the leak.")
        return f"heard {heard[:20]}"

    async with talking(plan) as at:  # pyright: ignore[reportArgumentType] # a plan all the same
        await at.play("Delegate it.")
        await at.talk.wait_for_descendants()
        (child,) = await at.db.agents(parent=at.agent.id)
        assert not child.working


async def test_an_agent_that_cannot_be_driven_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr(Driver, "_rounds", defect)
    async with talking(lambda _, heard: "yes") as at:
        with pytest.raises(SapwoodError, match=r"nobody thought.*sapwood run --agent"):
            await at.play("Hello!")
        assert (await at.agent.state()).open is not None


async def test_a_turn_whose_access_to_models_breaks_fails() -> None:
    def defect(request: Request, heard: str) -> str:
        raise ZeroDivisionError("nobody thought of this")

    async with talking(defect) as at:
        assert (await at.play("Hello!")).exit != Exit.OK
        assert (await at.agent.state()).open is None


async def test_waiting_is_over_at_once_when_nobody_works() -> None:
    async with talking(lambda _, heard: "yes") as at:
        assert (await at.play("One.\n/wait\nTwo.")).exit == Exit.OK
        assert at.shown.pieces == ["yes", "yes"]


async def test_a_summary_is_written_by_the_model() -> None:
    def plan(request: Request, heard: str) -> str:
        return "In short: herons." if heard.startswith("Summarise") else "A long story. " * 200

    async with talking(plan) as at:
        ended = await at.play("Tell me of herons.\n/compact\n/undo")
        assert ended.exit == Exit.OK
        assert at.shown.answers[-1].startswith("Undone: /compact.")


async def test_the_model_is_shown_and_changed() -> None:
    async with talking(lambda _, heard: "yes") as at:
        await at.play("/model")
        await at.play("/model other")
        assert at.shown.answers == ["planned", "model is now other."]
        assert (await at.agent.state()).settings.model == "other"


async def test_words_of_the_model_are_texts() -> None:
    async with talking(lambda _, heard: Answer((Text("a"), Text("b")), "planned")) as at:
        await at.play("Hello!")
        assert at.shown.pieces == ["ab"]
