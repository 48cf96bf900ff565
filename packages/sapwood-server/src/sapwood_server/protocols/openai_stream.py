"""A response in OpenAI's form, and its stream of events, made of the events of the log.

The same log gives the same events with the same numbers, so a stream can be resumed anywhere.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from sapwood.app.prompt_end import PromptEnd
from sapwood.core.content import File, ToolCall, Usage
from sapwood.core.events import ModelCalled, Recorded, ReplyAdded, ReplyLost, ToolFinished
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.core.tags import Tags
from sapwood.core.turn_params import TurnParams
from sapwood_server.protocols.caller_calls import CallerCalls

Fields = dict[str, object]

_INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}
_STATUS = {"failed": "failed", "interrupted": "cancelled", "killed": "cancelled", "stuck": "failed"}


class ResponsePlace(Struct, frozen=True):
    """Where the events of a response begin: after this version of the log of an agent."""

    agent: AgentId
    version: int

    @property
    def id(self) -> str:
        """The id of the response.

        >>> ResponsePlace(AgentId("abc"), 7).id
        'resp_abc_7'
        """
        return f"resp_{self.agent}_{self.version}"

    @classmethod
    def parse(cls, text: str) -> "ResponsePlace | None":
        """The place of an id; None if it is no id of a response.

        >>> ResponsePlace.parse("resp_abc_7") == ResponsePlace(AgentId("abc"), 7)
        True
        """
        head, _, version = text.rpartition("_")
        prefix, _, agent = head.partition("_")
        if prefix != "resp" or not agent or not version.isascii() or not version.isdigit():
            return None
        return cls(AgentId(agent), int(version)) if len(version) < 16 else None


class ResponseHead(Struct, frozen=True):
    """What is known of a response before its first word. `at` is in microseconds since 1970."""

    place: ResponsePlace
    at: int
    model: str
    instructions: str
    params: TurnParams
    open_calls: tuple[ToolCall, ...] = ()
    tags: Tags = Tags()
    stored: bool = True


class _Item(Struct):
    """An item of the output that is being made."""

    kind: str
    id: str
    index: int
    text: str = ""


class ResponseStream:
    """Turns what comes of a prompt into the events of a response.

    Each event is a dictionary with its `type` and its `sequence_number`. `output` are the items so
    far. `final` is the whole response after its end.
    """

    def __init__(self, head: ResponseHead) -> None:
        self.head = head
        self.output: list[Fields] = []
        self.usage: Usage | None = None
        self.model = head.model
        self.final: Fields = {}
        self._calls = CallerCalls(head.params.caller_names, head.open_calls)
        self._item: _Item | None = None
        self._items = 0
        self._number = 0
        self._ended = "done"

    @property
    def waits(self) -> bool:
        """Whether the model has called functions that the client has to run."""
        return self._calls.waits

    def begin(self) -> list[Fields]:
        """The events before the first word."""
        return [
            self._event("response.created", response=self.response("in_progress")),
            self._event("response.in_progress", response=self.response("in_progress")),
        ]

    def add(self, what: Delta | Recorded) -> list[Fields]:
        """The events of a piece of a reply, or of an event of the log."""
        if isinstance(what, Delta):
            if what.kind == "call":
                return []  # its arguments come with the whole reply
            return list(self._add_words(what))
        match what.event:
            case ModelCalled(instruction="") | ReplyLost():
                return self._drop_words()
            case ReplyAdded() as reply:
                return self._add_reply(reply)
            case ToolFinished() as result:
                return self._add_result(result)
            case _:
                return []

    def end(self, end: PromptEnd | None) -> list[Fields]:
        """The last events; None: the client has to run functions."""
        closing = self._close_item()
        status = _STATUS.get(end.status, "completed") if end else "completed"
        if status == "completed" and self._ended in _INCOMPLETE:
            status = "incomplete"
        self.final = self.response(status, end)
        kind = "incomplete" if status == "cancelled" else status
        return [*closing, self._event(f"response.{kind}", response=self.final)]

    def response(self, status: str, end: PromptEnd | None = None) -> Fields:
        """The response as it is now."""
        head, params = self.head, self.head.params
        problem = end.message if end is not None and status == "failed" else None
        reason = _INCOMPLETE.get(self._ended) if status == "incomplete" else None
        return {
            "id": head.place.id,
            "object": "response",
            "created_at": head.at // 1_000_000,
            "status": status,
            "background": False,
            "conversation": {"id": head.place.agent},
            "error": {"code": "server_error", "message": problem} if problem else None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": head.instructions or None,
            "max_output_tokens": params.max_tokens,
            "metadata": {each.name: each.value for each in head.tags.metadata},
            "model": self.model,
            "output": list(self.output),
            "parallel_tool_calls": params.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": params.effort, "summary": None},
            "store": head.stored,
            "temperature": params.temperature,
            "text": {"format": _format(params)},
            "tool_choice": _choice(params),
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": msgspec.json.decode(tool.schema),
                    "strict": False,
                }
                for tool in params.caller_tools or ()
            ],
            "top_p": None,
            "truncation": "auto",
            "usage": _usage(self.usage),
            "user": head.tags.owner or None,
        }

    # The output

    def _add_words(self, delta: Delta) -> Iterable[Fields]:
        kind = "message" if delta.kind == "text" else "reasoning"
        item = self._item
        if item is None or item.kind != kind:
            yield from self._close_item()
            item = self._item = _Item(kind, self._new_id(kind), len(self.output))
            yield self._item_event("added", _words_item(item, "in_progress"), item.index)
            part = _text_part("") if kind == "message" else _summary_part("")
            yield self._part_event("added", item, part)
        item.text += delta.text
        name = "output_text" if kind == "message" else "reasoning_summary_text"
        more: Fields = {"logprobs": []} if kind == "message" else {}
        # Each character has a number, so that the numbers do not depend on how the words arrived.
        self._number += max(0, len(delta.text) - 1)
        yield self._event(f"response.{name}.delta", **_at(item), delta=delta.text, **more)

    def _close_item(self) -> list[Fields]:
        item, self._item = self._item, None
        if item is None:
            return []
        is_message = item.kind == "message"
        name = "output_text" if is_message else "reasoning_summary_text"
        more: Fields = {"logprobs": []} if is_message else {}
        part = _text_part(item.text) if is_message else _summary_part(item.text)
        whole = _words_item(item, "completed")
        self.output.append(whole)
        return [
            self._event(f"response.{name}.done", **_at(item), text=item.text, **more),
            self._part_event("done", item, part),
            self._item_event("done", whole, item.index),
        ]

    def _drop_words(self) -> list[Fields]:
        """Ends an item whose reply was lost. It is not part of the response."""
        item, self._item = self._item, None
        if item is None:
            return []
        return [self._item_event("done", _words_item(item, "incomplete"), item.index)]

    def _add_reply(self, reply: ReplyAdded) -> list[Fields]:
        events = self._close_item()
        self._ended = reply.ended
        self.model = reply.model or self.model
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        for part in reply.parts:
            if isinstance(part, File):
                events += self._add_item(
                    {
                        "type": "image_generation_call",
                        "id": self._new_id("image"),
                        "status": "completed",
                        "result": part.data,
                    }
                )
        for call, is_callers in self._calls.add_reply(reply):
            events += self._add_call(call) if is_callers else []
        return events

    def _add_call(self, call: ToolCall) -> list[Fields]:
        index, key = len(self.output), self._new_id("function_call")
        item: Fields = {
            "type": "function_call",
            "id": key,
            "call_id": call.id,
            "name": call.name,
            "arguments": call.args,
            "status": "completed",
        }
        self.output.append(item)
        started = {**item, "arguments": "", "status": "in_progress"}
        place: Fields = {"item_id": key, "output_index": index}
        name = "response.function_call_arguments"
        return [
            self._item_event("added", started, index),
            self._event(f"{name}.delta", **place, delta=call.args),
            self._event(f"{name}.done", **place, name=call.name, arguments=call.args),
            self._item_event("done", item, index),
        ]

    def _add_result(self, result: ToolFinished) -> list[Fields]:
        """A call that the server ran itself."""
        known = self._calls.add_result(result)
        if known is None:
            return []
        return self._add_item(
            {
                "type": "mcp_call",
                "id": self._new_id("mcp_call"),
                "server_label": "sapwood",
                "name": known.name,
                "arguments": known.args,
                "output": result.content,
                "status": "failed" if result.error else "completed",
            }
        )

    def _add_item(self, item: Fields) -> list[Fields]:
        index = len(self.output)
        self.output.append(item)
        return [self._item_event(what, item, index) for what in ("added", "done")]

    # Events

    def _new_id(self, kind: str) -> str:
        short = {"message": "msg", "reasoning": "rs", "function_call": "fc", "mcp_call": "mcp"}
        self._items += 1
        place = self.head.place
        return f"{short.get(kind, kind)}_{place.agent}_{place.version}_{self._items}"

    def _item_event(self, what: str, item: Fields, index: int) -> Fields:
        return self._event(f"response.output_item.{what}", output_index=index, item=item)

    def _part_event(self, what: str, item: _Item, part: Fields) -> Fields:
        name = "content_part" if item.kind == "message" else "reasoning_summary_part"
        return self._event(f"response.{name}.{what}", **_at(item), part=part)

    def _event(self, kind: str, **fields: object) -> Fields:
        event: Fields = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return event


def _at(item: _Item) -> Fields:
    place = "content_index" if item.kind == "message" else "summary_index"
    return {"item_id": item.id, "output_index": item.index, place: 0}


def _words_item(item: _Item, status: str) -> Fields:
    done = status != "in_progress"
    if item.kind == "message":
        content: Sequence[Fields] = [_text_part(item.text)] if done else []
        return {
            "type": "message",
            "id": item.id,
            "role": "assistant",
            "status": status,
            "content": content,
        }
    summary: Sequence[Fields] = [_summary_part(item.text)] if done else []
    return {"type": "reasoning", "id": item.id, "status": status, "summary": summary}


def _text_part(text: str) -> Fields:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary_part(text: str) -> Fields:
    return {"type": "summary_text", "text": text}


def _format(params: TurnParams) -> Fields:
    if params.output_schema is None:
        return {"type": "text"}
    schema = msgspec.json.decode(params.output_schema)
    return {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}


def _choice(params: TurnParams) -> object:
    choice = params.tool_choice
    if choice in (None, "auto", "none", "required"):
        return choice or "auto"
    return {"type": "function", "name": choice}


def _usage(usage: Usage | None) -> Fields | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }
