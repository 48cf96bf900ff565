"""The same histories on real databases, and on imported sessions of Claude Code.

The laws are checked in memory first. Then a database gets the same commands, and must give the same
answers, events, states and live paths; every manifest in it must replay to its hash. Every request
that is ready to be sent must be valid on all four wire formats.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from sapwood.core.commands import Command, CommandMeta
from sapwood.core.content import Thinking
from sapwood.core.decide import Accepted, Decision
from sapwood.core.events import ModelCalled, Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import Refusal
from sapwood.core.token_count import Counter
from sapwood.core.view import Message, Request, view
from sapwood.core.view.request import digest
from sapwood.imports.importer import Importer
from sapwood.models.calls import settings_for
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire import anthropic_request, chat_request, gemini_request, responses_request
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.wire_call import WireCall
from sapwood.testing.core_harness import CoreHarness
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_agent
from scripted_model.signatures import sign_text
from scripted_model.wires import WIRES
from scripted_model.wires.wire import Post

SESSIONS = Path(__file__).parents[1] / "evals" / "sessions"
IMPORTED = (
    "strangers/s1_oauth_pkce",
    "strangers/s3_infra_incident",
    "tuned/inventory-sync",
    "tuned/tile-cache-panic",
)
"""Sessions of Claude Code; `inventory-sync` has a compaction."""
_IDLE_SECONDS = 0.0


class SentCommand(Struct, frozen=True):
    """A command of a history, and what was decided in memory."""

    command: Command
    meta: CommandMeta
    decision: Decision


class Difference(AssertionError):
    """A database does not have what the history has in memory."""


class _WireFormat(Struct, frozen=True):
    route: ModelRoute
    post_of: Callable[[WireCall], HttpPost]


_FORMATS: Mapping[str, _WireFormat] = {
    "anthropic": _WireFormat(resolve("claude-haiku-5-5"), anthropic_request.post_of),
    "responses": _WireFormat(resolve("gpt-6.1-terra"), responses_request.post_of),
    "chat": _WireFormat(resolve("openai-chat:gpt-6.1-terra"), chat_request.post_of),
    "gemini": _WireFormat(resolve("gemini-3.8-flash"), gemini_request.post_of),
}


def wire_faults(request: Request) -> list[str]:
    """The rules of providers that a request breaks, with the name of the wire format.

    A request that ends with the model's words has none: no call would be made with it.
    """
    faults: list[str] = []
    if not request.messages or request.messages[-1].role != "user":
        return faults
    request = structs.replace(request, messages=tuple(map(_signed, request.messages)))
    for name, each in _FORMATS.items():
        settings = settings_for(each.route.wire, {})
        sent = each.post_of(WireCall(each.route, "key", request, settings=settings))
        post = Post("reply", json.loads(sent.body), sent.headers, each.route.model, streams=True)
        if (broken := WIRES[name].first_violation(post)) is not None:
            faults.append(f"{name}: {broken.message}")
    return faults


def _signed(message: Message) -> Message:
    """The message with thinking that is signed as the scripted providers sign it."""
    parts = [
        structs.replace(part, signature=sign_text(part.provider, part.text))
        if isinstance(part, Thinking) and part.signature
        else part
        for part in message.parts
    ]
    return structs.replace(message, parts=tuple(parts))


class _Unmasked(Struct):
    """A log without secrets, for the importer."""

    log: Log
    space: Space
    address: str = ""

    def masked(self, text: str) -> str:
        return text


async def import_into(log: Log, space: Space, session: str, world: CoreHarness) -> None:
    """Imports a session into a space, and lets the world begin with its log."""
    importer = Importer(_Unmasked(log, space), idle_seconds=_IDLE_SECONDS)
    found = await importer.bring(SESSIONS / f"{session}.jsonl", "claude-code")
    if found.problem or not found.turns:
        raise Difference(f"{session} was not imported: {found.problem}")
    for agent in (found.agent, *await log.descendants(space, found.agent)):  # its subagents too
        world.take_log(await log.read(space, agent))


async def check_stored(
    log: Log, space: Space, world: CoreHarness, sent: list[SentCommand], counter: Counter
) -> None:
    """Carries out the commands on a database, and compares. Raises `Difference`."""
    dispatcher = Dispatcher(log, space, lambda _: counter)
    for each in sent:
        answer = await dispatcher.dispatch(each.command, each.meta)
        decided = each.decision
        if isinstance(decided, Accepted):
            same = not isinstance(answer, Refusal) and answer.message == decided.message
        else:
            same = answer == decided
        if not same:
            raise Difference(f"{each.command} was answered with {answer}, not with {decided}")
    await dispatcher.close()
    for agent, events in world.logs.items():
        await _compare(log, space, world, agent, events)


async def _compare(
    log: Log, space: Space, world: CoreHarness, agent: AgentId, events: list[Recorded]
) -> None:
    if await log.read(space, agent) != events:
        raise Difference(f"the log of {agent} is another one")
    opened = await open_agent(log, space, agent)
    if opened.state != world.states[agent]:
        raise Difference(f"{agent} opens with another state")
    if opened.live != world.lives[agent]:
        raise Difference(f"{agent} opens with another path")
    for recorded in events:
        if isinstance(recorded.event, ModelCalled):
            then = await open_agent(log, space, agent, recorded.version - 1)
            if digest(view(then.state, then.live)) != recorded.event.hash:
                raise Difference(f"the call {recorded.ref} replays to another request")
