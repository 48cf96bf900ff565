"""The story that every framework goes through: runs of its example, and Sapwood between them.

Each run is a process of its own. Between the runs the story marks, clears, rewinds, undoes and
forks through Sapwood. The next request of the framework must hold exactly the live path.
"""

import asyncio
import base64
import json
from pathlib import Path

import sapwood
from proofs.agents_e2e.checks import Checks
from proofs.integrations.frameworks import Framework, RunningExample, further_checks
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.view import Message, Request, ToolResult
from sapwood_frameworks.conversation import Conversation, Database
from scripted_model import ModelRequest, ScriptedModel, conversation

ONE = "What is one? [[say: One is a number.]]"
BOTH = (
    "Where is it colder? [[think: I look at both.]] "
    '[[tools: TOOL {"city": "Oslo"} TOOL {"city": "Reykjavik"}]] '
    "[[think: Now I know both.]] [[say: It is colder in Oslo.]]"
)
PIN = "Answer like a pirate."
"""Where a framework has no place for it in the system prompt, it is in front of the history."""
_REMARK = "<system-reminder>"
"""How the text begins that Claude Code adds to a prompt."""

_KINDS: dict[type, str] = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "call",
    ToolResult: "result",
}

_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture with one pixel."""

Part = tuple[str, ...]
_FILE: Part = ("file",)
_NAMED_FILES = ("[image]", "[input_image]", "[inlineData]")
"""How the scripted model writes an image, by wire format."""


class Story:
    """The story of one framework: its database, and the requests that the model got."""

    def __init__(self, framework: Framework, home: Path, checks: Checks) -> None:
        self._framework = framework
        self._home = home
        self._checks = checks
        self._database = home / "history.db"
        self._seen: list[ModelRequest] = []
        self._model: ScriptedModel | None = None
        self._running: RunningExample | None = None

    async def run(self) -> None:
        """Goes through the story; every check is one line."""
        with ScriptedModel(allow={"anthropic": ["safeguards"]}) as model:
            self._model = model
            model.script(self._look)
            await self._restart(self._framework.sessions[0])
            try:
                await self._tell()
            finally:
                if self._running is not None:
                    await asyncio.to_thread(self._running.close)
            if self._framework.further:
                for holds, what in await asyncio.to_thread(further_checks, self._framework):
                    self._checks.expect(what, holds)
            self._checks.expect("the model refused nothing", not model.rejections, model.rejections)

    async def _tell(self) -> None:
        checks, (chat, other) = self._checks, self._framework.sessions
        await self._ask(ONE)
        await self._ask(BOTH.replace("TOOL", self._framework.tool))
        async with sapwood.open(self._database) as db:
            prefix, database = self._framework.prefix, Database(db)
            kept = Conversation(database, prefix + chat)
            agent = await kept.agent()
            checks.expect("two runs are two turns", await _length(agent) == 2)
            last = (await agent.request()).messages[-4:]
            kinds = [_KINDS[type(part)] for message in last for part in message.parts][-7:]
            order = "thinking call call result result thinking text"
            checks.expect(
                "thoughts and parallel calls keep their order", kinds == order.split(), kinds
            )
            found = await db.search("Reykjavik degrees")
            checks.expect("a tool result is found by search", found)
            await self._restart(chat)
            await self._goes_on(agent, "Three", "after a restart")
            await agent.mark("THREE")
            await self._goes_on(agent, "Four", "after a mark")
            await agent.clear(2)
            checks.expect("clear 2 leaves two turns", await _length(agent) == 2)
            await self._goes_on(agent, "Five", "after /clear 2")
            await agent.rewind("THREE")
            checks.expect("rewind brings the marked turns back", await _length(agent) == 3)
            await self._goes_on(agent, "Six", "after /rewind")
            await agent.undo()
            await self._goes_on(agent, "Seven", "after /undo")
            await agent.pin("style", PIN)
            await self._goes_on(agent, "Eight", "with a pin")
            checks.expect("the pin is sent", PIN in self._sent(), self._sent())
            image = File.of(base64.b64decode(_DOT), name="dot.png")
            async with agent.turn([Text("What is this?"), image]) as turn:
                await turn.reply("A dot.")
            await self._ask("Where is it? [[say: On the page.]]")
            sent = self._sent().replace("-", "+").replace("_", "/")  # Google's base64
            checks.expect("an image in view reaches the model", _DOT in sent, sent)
            before = await _length(agent)
            forked = await (await kept.fork(prefix + other)).agent()
            await self._restart(other)
            await self._goes_on(forked, "Nine", "in a fork")
            checks.expect("the fork does not change its parent", await _length(agent) == before)
            hits = {hit.ref.agent for hit in await db.search('"answer to Nine"')}
            checks.expect("the answer of the fork is found by search", hits == {forked.id}, hits)

    async def _restart(self, session: str) -> None:
        """Ends the process of the example, and starts another one with the same database."""
        assert self._model is not None
        if self._running is not None:
            code = await asyncio.to_thread(self._running.close)
            self._checks.expect("the example ends well", code == 0, code)
        self._running = RunningExample(
            self._framework, self._home, self._model.env(), str(self._database), session
        )

    async def _ask(self, prompt: str) -> str:
        assert self._running is not None
        return await asyncio.to_thread(self._running.ask, prompt)

    async def _goes_on(self, agent: sapwood.Agent, word: str, when: str) -> None:
        """Asks once more, and compares the request with the live path before it."""
        checks, prompt = self._checks, f"{word}? [[say: The answer to {word}.]]"
        live = [*_parts(await agent.request()), ("user", prompt)]
        answer = await self._ask(prompt)
        checks.expect(f"{when}, the program answers", answer == f"The answer to {word}.", answer)
        sent = self._sent_with(prompt)
        checks.expect(
            f"{when}, the request holds exactly the live path",
            sent == live,
            f"sent {sent}\nlive {live}",
        )
        newest = _parts(await agent.request())[-2:]
        checks.expect(
            f"{when}, the turn is in the log",
            newest == [("user", prompt), ("text", f"The answer to {word}.")],
            newest,
        )

    def _look(self, request: ModelRequest) -> None:
        self._seen.append(request)

    def _sent_with(self, prompt: str) -> list[Part]:
        """The parts of the last request with this prompt, without pin and framework's remarks."""
        for request in reversed(self._seen):
            parts = [part for message in request.messages for part in _sent_parts(message)]
            if ("user", prompt) in parts:
                return [part for part in parts if not part[-1].startswith((_REMARK, PIN))]
        return []

    def _sent(self) -> str:
        return json.dumps([each.body for each in self._seen[-2:]], ensure_ascii=False)


async def run_story(framework: Framework, home: Path, checks: Checks) -> None:
    """Runs the story of a framework."""
    await Story(framework, home, checks).run()


async def _length(agent: sapwood.Agent) -> int:
    return len((await agent.opened()).live.turns)


def _parts(request: Request) -> list[Part]:
    return [part for message in request.messages for part in _live_parts(message)]


def _live_parts(message: Message) -> list[Part]:
    found: list[Part] = []
    for part in message.parts:
        match part:
            case Text():
                found.append(("user" if message.role == "user" else "text", part.text))
            case File():
                found.append(_FILE)
            case Thinking() if part.signature:  # providers take back what they have signed
                found.append(("thinking",))
            case ToolCall():
                found.append(("call", part.name, _canonical(part.args)))
            case ToolResult():
                found.append(("result", part.content))
            case _:
                pass
    return found


def _sent_parts(message: conversation.Message) -> list[Part]:
    found: list[Part] = []
    for part in message.parts:
        match part:
            case conversation.Text() if part.text in _NAMED_FILES:
                found.append(_FILE)
            case conversation.Text():
                found.append(("user" if message.role == "user" else "text", part.text))
            case conversation.Thinking():
                found.append(("thinking",))
            case conversation.ToolCall():
                found.append(("call", part.name, _canonical(part.args)))
            case conversation.ToolResult():
                found.append(("result", part.content))
    return found


def _canonical(args: str) -> str:
    return json.dumps(json.loads(args), sort_keys=True)
