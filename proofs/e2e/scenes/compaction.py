"""Compaction: a checked summary replaces the history, for a user and for a model."""

from proofs.e2e.system_under_test import SystemUnderTest
from sapwood.api.agent import Agent
from sapwood.core.events import ContextSummarized, ModelCalled
from sapwood.turns.dispatch import Done
from scripted_model import ModelRequest, ReplyLike, call

ASKED = "Write the migration plan into plan.md."
POOR = "We talked about birds."
GOOD = "The migration plan went into plan.md, written as asked; notes.txt was read before."
LONG = "The heron is a bird of the water's edge, grey and patient. " * 40


class _Summariser:
    """A model whose first summary omits important facts, until the request names them."""

    def __init__(self) -> None:
        self.seen: list[ModelRequest] = []
        self.summaries: list[str] = []

    def model(self, asked: ModelRequest) -> ReplyLike:
        """Answers a request."""
        self.seen.append(asked)
        prompt = asked.messages[-1].text
        if "Your summary lacks the following" in prompt:
            self.summaries.append(prompt)
            return GOOD
        if prompt.startswith("Summarise this conversation"):
            self.summaries.append(prompt)
            return POOR if len(self.summaries) == 1 else GOOD
        if asked.results:
            return "Done." if asked.prompt != "Tidy up." else "Tidied."
        match asked.prompt:
            case "Read the notes.":
                return ["I read.", call("read_file", path="notes.txt")]
            case "Tidy up.":
                return call("slash", command="compact")
            case _ if asked.prompt == ASKED:
                return call("write_file", path="plan.md", content="1. Migrate.")
            case _:
                return LONG


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks, play = system.checks, _Summariser()
    system.script(play.model)
    agent = await system.start("writer")
    for prompt in ("Tell me of herons.", "Read the notes.", ASKED):
        await system.ask(agent, prompt)
    before = await agent.request()
    done = await system.running.compact(agent.id)
    answer = done.message if isinstance(done, Done) else done.sentence
    checks.within(
        "it reports what it did", "Compacted 3 turns into a summary. It contains ", answer
    )
    await _checked(system, agent, play)
    await system.ask(agent, "Go on.")
    checks.many("nothing else is in view", play.seen[-1].messages, 1)
    heard = play.seen[-1].messages[0].text
    checks.within("the next request starts with the summary", GOOD, heard[:200])
    checks.within("with what the log itself knows", "Files created: plan.md", heard)
    checks.within("and the last request, word for word", ASKED, heard)
    checks.that("then the prompt", heard.endswith("Go on."), heard)
    await agent.undo()
    after = await agent.request()
    whole = after.messages[: len(before.messages)] == before.messages
    checks.that("undo brings the history back", whole, after)
    await _by_the_model(system, agent, play)


async def _checked(system: SystemUnderTest, agent: Agent, play: _Summariser) -> None:
    checks = system.checks
    events = [recorded.event for recorded in await agent.events()]
    (summarised,) = [event for event in events if isinstance(event, ContextSummarized)]
    checks.same("the summary with more facts was taken", summarised.text, GOOD)
    checks.that("it was checked", (summarised.score or 0) >= 0.8, summarised.score)
    checks.many("after one round of repair", play.summaries, 2)
    checks.within("that named what was missing", "plan.md", play.summaries[-1])
    calls = [e for e in events if isinstance(e, ModelCalled) and e.instruction]
    checks.many("both calls are in the log", calls, 2)
    first, second = (asked.messages for asked in play.seen[-2:])
    checks.same("both extend the conversation as it was", first[:-1], second[:-1])


async def _by_the_model(system: SystemUnderTest, agent: Agent, play: _Summariser) -> None:
    checks = system.checks
    carried = await system.ask(agent, "Tidy up.")
    checks.within("a model compacts itself; what it was asked stays", "Tidy up.", carried)
    result = play.seen[-2].results[-1].content
    checks.within("when its turn completes", "This takes effect when the current turn ends", result)
    state = await agent.state()
    checks.that("and then nothing else is in view", state.context.head == state.context.tip)
    kinds = [recorded.kind for recorded in await agent.events()][-4:]
    wanted = ["model.called", "turn.completed", "context.summarized", "context.trimmed"]
    checks.same("in one commit with the end of the turn", kinds, wanted)
