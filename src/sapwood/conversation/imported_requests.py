"""The requests of imported conversations, as the program that sent them stored them.

Claude Code, for example, stores every request in its transcript. Such requests are numbered from 1.
They are rebuilt and checked by their hashes first, and then secrets in them are masked.
"""

import asyncio
from pathlib import Path
from typing import assert_never

from msgspec import structs

from sapwood.conversation.call import OpenSpace
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import SYSTEM, ModelCalled, Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef
from sapwood.core.refusals import NoSuchCall
from sapwood.core.turn_numbers import NumberedCall
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.programs.registry import PROGRAM_NAMES, program
from sapwood.programs.transcripts.sent_requests import SentRequest, SentRequests
from sapwood.redaction import mask_secrets
from sapwood.turns.open_agent import open_state
from sapwood.turns.replay import Replayed


async def imported_calls(space: OpenSpace, agent: AgentId) -> list[NumberedCall] | None:
    """The requests of the transcript, oldest first; None if the agent has no such transcript.

    The version of each is its number. Raises `SapwoodError` if the transcript cannot be read.
    """
    found = await _transcript(space, agent)
    if found is None:
        return None
    return [
        NumberedCall(
            Recorded(agent, sent.number, _called(sent), sent.at, SYSTEM, CommandId("")),
            turn=0,
            nth=sent.number,
        )
        for sent in await _requests(*found)
    ]


async def imported_replay(space: OpenSpace, agent: AgentId, number: int | None) -> Replayed | None:
    """The request with this number, by default the last one; None if there is no request at all.

    Raises `RefusedError` for another number.
    """
    found = await _transcript(space, agent)
    requests = await _requests(*found) if found else []
    if found is None or not requests:
        return None
    if number is not None and not 1 <= number <= len(requests):
        raise RefusedError(NoSuchCall(agent, number))
    sent = requests[(number or 0) - 1]
    rebuilt = await asyncio.to_thread(found[0].rebuild, found[1], sent)
    request = await asyncio.to_thread(_masked, rebuilt.request)
    place = EventRef(agent, sent.number)
    return Replayed(place, _called(sent), request, matches=not rebuilt.missing)


async def _transcript(space: OpenSpace, agent: AgentId) -> tuple[SentRequests, Path] | None:
    """The transcript, and what reads its requests; None if its program stores none."""
    origin = (await open_state(space.log, space.space, agent)).origin
    if origin is None or origin.source not in PROGRAM_NAMES or not origin.path:
        return None
    source = program(origin.source)
    return (source.sent_requests, Path(origin.path)) if "sent_requests" in source.parts else None


async def _requests(stored: SentRequests, path: Path) -> list[SentRequest]:
    try:
        return await asyncio.to_thread(stored.read, path)
    except OSError as error:
        raise SapwoodError(
            f"This conversation's requests are in {path}, which cannot be read: "
            f"{error.strerror or error}."
        ) from error


def _called(sent: SentRequest) -> ModelCalled:
    return ModelCalled(sent.model, ROOT, sent.digest)


def _masked(request: Request) -> Request:
    system = [structs.replace(block, text=mask_secrets(block.text)) for block in request.system]
    messages = [
        structs.replace(message, parts=tuple(map(_masked_part, message.parts)))
        for message in request.messages
    ]
    return structs.replace(request, system=tuple(system), messages=tuple(messages))


def _masked_part(part: MessagePart) -> MessagePart:
    match part:
        case File():
            return part
        case Text():
            return Text(mask_secrets(part.text))
        case Thinking(text):
            return structs.replace(part, text=mask_secrets(text))
        case ToolCall(args=args):
            return structs.replace(part, args=mask_secrets(args))
        case ToolResult(content=content):
            return structs.replace(part, content=mask_secrets(content))
        case _:
            assert_never(part)
