"""Converts items of OpenAI's Responses API, which the OpenAI Agents SDK stores, to turns and back.

Items that Sapwood has no part for, such as a web search that OpenAI ran, or the call of a shell and
its output, are kept word for word as a `Thinking` part with a provider of its own, so that no other
provider gets them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import cast

from sapwood.core.content import (
    File,
    Note,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.frames import EMPTY_RESULT
from sapwood.models.wire.signatures import ReasoningItem, decode_reasoning, encode_reasoning
from sapwood_frameworks.content_files import not_kept
from sapwood_frameworks.conversation import Item, Prompt

ResponseItem = dict[str, object]

_PROVIDER = "openai"
_VERBATIM = "openai-item"


# From the framework


def items_from(items: Iterable[Mapping[str, object]]) -> list[Item]:
    """The prompts, replies and tool results in a list of response items, in order."""
    reader = _Reader()
    for item in items:
        reader.read(item)
    return reader.end()


def is_answered(items: Sequence[Mapping[str, object]]) -> bool:
    """Whether a message of the model is the last item. The model goes on after any other one."""
    last: Mapping[str, object] = items[-1] if items else {}
    return (last.get("type") or "message") == "message" and last.get("role") == "assistant"


class _Reader:
    """Reads items one by one; those of the model that follow each other are one reply."""

    def __init__(self) -> None:
        self._found: list[Item] = []
        self._reply: list[ReplyPart] = []
        self._reasoning: list[tuple[int, ReasoningItem]] = []

    def read(self, item: Mapping[str, object]) -> None:
        kind, role = item.get("type") or "message", item.get("role")
        if kind == "function_call_output":
            self._end_reply()
            parts = _parts(item.get("output"))
            text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
            files = tuple(part for part in parts if isinstance(part, File))
            self._found.append(RecordedResult(str(item["call_id"]), text, files=files))
        elif kind == "message" and role != "assistant":
            self._end_reply()
            if parts := _prompt_parts(item.get("content"), role):
                self._found.append(Prompt(parts))
        elif kind == "message":
            self._read_text(item)
        elif kind == "reasoning":
            self._read_reasoning(item)
        elif kind == "function_call":
            self._read_call(item)
        else:
            self._reply.append(Thinking("", _VERBATIM, json.dumps(dict(item))))

    def end(self) -> list[Item]:
        self._end_reply()
        return self._found

    def _read_text(self, item: Mapping[str, object]) -> None:
        for text in _texts(item.get("content")):
            if not text.strip():
                continue
            if self._reasoning:
                self._reasoning[-1][1].texts.append((_name(item), str(item.get("phase") or "")))
            self._reply.append(Text(text))

    def _read_reasoning(self, item: Mapping[str, object]) -> None:
        """Each text of the summary is a part; the first one has the encrypted reasoning."""
        data = str(item.get("encrypted_content") or "")
        for thought in _texts(item.get("summary")) or _texts(item.get("content")) or [""]:
            self._reasoning.append((len(self._reply), ReasoningItem(_name(item), data)))
            self._reply.append(Thinking(thought))
            data = ""

    def _read_call(self, item: Mapping[str, object]) -> None:
        call = ToolCall(str(item["call_id"]), str(item["name"]), str(item["arguments"]))
        if self._reasoning and _name(item):
            self._reasoning[-1][1].calls[call.id] = _name(item)
        self._reply.append(call)

    def _end_reply(self) -> None:
        for index, item in self._reasoning:
            thought = self._reply[index]
            if isinstance(thought, Thinking):
                self._reply[index] = Thinking(thought.text, _PROVIDER, encode_reasoning(item))
        if self._reply:
            self._found.append(RecordedReply(tuple(self._reply)))
        self._reply, self._reasoning = [], []


def _name(item: Mapping[str, object]) -> str:
    """The id of an item. The Agents SDK writes a false one for servers that give none."""
    name = str(item.get("id") or "")
    return "" if name == "__fake_id__" else name


def _prompt_parts(content: object, role: object) -> tuple[PromptPart, ...]:
    """The parts of a message. Texts that follow each other are one part."""
    found: list[PromptPart] = []
    for is_text, parts in groupby(_parts(content), lambda part: isinstance(part, Text)):
        if not is_text:
            found += parts
        elif (text := "\n\n".join(part.text for part in parts)).strip():
            found.append(Text(text) if role == "user" else Note("program", text))
    return tuple(found)


def _texts(content: object) -> list[str]:
    return [part.text for part in _parts(content)]


def _parts(content: object) -> list[Text | File]:
    """The texts and files of a content. A file that is only named becomes a short remark."""
    if isinstance(content, str):
        return [Text(content)]
    if not isinstance(content, list):
        return []
    return [_part(cast("Mapping[str, object]", part)) for part in cast("list[object]", content)]


def _part(part: Mapping[str, object]) -> Text | File:
    for field in ("text", "refusal"):
        if isinstance(text := part.get(field), str):
            return Text(text)
    address = str(part.get("image_url") or part.get("file_data") or "")
    file = File.from_data_url(address, str(part.get("filename") or ""))
    return file or Text(not_kept(part.get("type")))


# To the framework


def response_items(request: Request) -> list[ResponseItem]:
    """The items of a request: system texts and pins first, then the messages in order."""
    items: list[ResponseItem] = [
        {"role": "system", "content": block.text} for block in request.system if block.text.strip()
    ]
    for message in request.messages:
        if message.role == "user":
            items += _user_items(message)
        else:
            items += _Reply().items(message)
    return items


def _user_items(message: Message) -> Iterator[ResponseItem]:
    said: list[Text | File] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {
                "type": "function_call_output",
                "call_id": part.call,
                "output": _output(part),
            }
        elif isinstance(part, Text | File):
            said.append(part)
    match said:
        case []:
            return
        case [Text(text)]:
            yield {"role": "user", "content": text}
        case _:
            yield {"role": "user", "content": [_input(part) for part in said]}


def _output(result: ToolResult) -> object:
    if not result.files:
        return result.content
    texts = [Text(result.content)] if result.content != EMPTY_RESULT else []
    return [_input(part) for part in (*texts, *result.files)]


def _input(part: Text | File) -> ResponseItem:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if part.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": part.data_url, "detail": "auto"}
    return {"type": "input_file", "file_data": part.data_url, "filename": part.name}


class _Reply:
    """Converts one message of the model, with the ids that OpenAI wants back."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._calls: dict[str, str] = {}

    def items(self, message: Message) -> list[ResponseItem]:
        items: list[ResponseItem] = []
        for part in message.parts:
            match part:
                case Text():
                    items.append(self._text(part))
                case ToolCall():
                    items.append(self._call(part))
                case Thinking(provider="openai-item"):
                    items.append(json.loads(part.signature))
                case Thinking(provider="openai"):
                    self._think(items, part)
                case _:
                    pass
        return items

    def _think(self, items: list[ResponseItem], part: Thinking) -> None:
        kept = decode_reasoning(part.signature)
        if kept is None:
            return
        self._texts, self._calls = list(kept.texts), dict(kept.calls)
        summary = {"type": "summary_text", "text": part.text}
        last = items[-1] if items else {}
        if last.get("type") == "reasoning" and last.get("id") == kept.id and not kept.data:
            cast("list[object]", last["summary"]).append(summary)
            return
        item: ResponseItem = {"type": "reasoning", "summary": [summary] if part.text else []}
        if kept.id:
            item["id"] = kept.id
        if kept.data:
            item["encrypted_content"] = kept.data
        items.append(item)

    def _text(self, part: Text) -> ResponseItem:
        name, phase = self._texts.pop(0) if self._texts else ("", "")
        if not name:
            return {"role": "assistant", "content": part.text}
        item: ResponseItem = {
            "id": name,
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": part.text, "annotations": []}],
        }
        return {**item, "phase": phase} if phase else item

    def _call(self, part: ToolCall) -> ResponseItem:
        item: ResponseItem = {
            "type": "function_call",
            "call_id": part.id,
            "name": part.name,
            "arguments": part.args,
        }
        name = self._calls.get(part.id)
        return {**item, "id": name} if name else item
