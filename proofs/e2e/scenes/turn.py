"""A streaming turn with tools: thinking, text, several calls at once, and an answer."""

from proofs.e2e.system_under_test import SystemUnderTest
from sapwood.core.content import Thinking
from sapwood.core.events import ReplyAdded, ToolFinished
from scripted_model import ModelRequest, Reply, ReplyLike, call, think

ANSWER = "The heron nests in the tall pine, and main.py prints its name."


def _model(asked: ModelRequest) -> ReplyLike:
    if asked.results:
        return Reply.of(ANSWER, stall=2.0)
    return [
        think("Two files may tell."),
        "I look at the notes and at the program.",
        call("read_file", path="notes.txt"),
        call("search_files", pattern="heron"),
    ]


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks = system.checks
    system.script(_model)
    agent = await system.start("reader")
    pieces = await system.heard(agent, "Where does the heron nest?")
    texts = [piece.text for piece in pieces if piece.kind == "text"]
    checks.that("an answer is shown before it is complete", ANSWER not in texts, texts)
    checks.same(
        "the pieces add up to the answer",
        "".join(texts),
        f"I look at the notes and at the program.{ANSWER}",
    )
    called = [piece.name for piece in pieces if piece.kind == "call"]
    checks.same("calls are streamed too, each once", called, ["read_file", "search_files"])
    events = [recorded.event for recorded in await agent.events()]
    kinds = [event.kind for event in events]
    checks.that("the log has the replies, not their pieces", "reply.streamed" not in kinds, kinds)
    results = [event.content for event in events if isinstance(event, ToolFinished)]
    checks.many("both tools ran", results, 2)
    checks.that("they read the workspace", all("heron" in result for result in results), results)
    replies = [event for event in events if isinstance(event, ReplyAdded)]
    usages = [reply.usage for reply in replies if reply.usage]
    checks.that("usage is recorded", len(usages) == 2 and all(u.input > 0 for u in usages), usages)
    checks.that("and what it cost", all(usage.cost > 0 for usage in usages), usages)
    thoughts = [part for part in replies[0].parts if isinstance(part, Thinking)]
    checks.that("its thinking is kept", bool(thoughts) or system.wire == "chat", replies[0].parts)
    checks.same("the turn completed", await system.last_words(agent), ANSWER)
