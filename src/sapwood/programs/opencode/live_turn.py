"""A turn that runs in a server: what the server tells and asks, as events of a provider."""

from collections.abc import AsyncIterator, Iterator
from typing import Any  # events are JSON

import msgspec

from sapwood.core.content import Usage
from sapwood.core.model_calls import Delta
from sapwood.programs.agent_provider import (
    ProviderEvent,
    ProviderOptions,
    ProviderReply,
    ProviderResult,
)
from sapwood.programs.opencode import rows
from sapwood.programs.opencode.permissions import question_of
from sapwood.programs.opencode.server import OpencodeServer
from sapwood.programs.opencode.session_log import as_object
from sapwood.programs.transcripts.row_file import decode_json, row_decoder

_info = row_decoder(rows.Info)
_part = row_decoder(rows.Part)


class OpencodeTurn:
    """The turn after one prompt. `error` is that of its last answer."""

    def __init__(self, server: OpencodeServer, session: str, options: ProviderOptions) -> None:
        self._server = server
        self._session = session
        self._options = options
        self._infos: dict[str, rows.Info] = {}
        self._parts: dict[str, dict[str, rows.Part]] = {}
        self._replied: set[str] = set()
        self._results: set[str] = set()
        self.usage: Usage | None = None
        self.error = ""
        self.aborted = False
        self.was_compacted = False

    async def events(self, stream: AsyncIterator[bytes]) -> AsyncIterator[ProviderEvent]:
        """What happens until the session is idle. Raises `OpencodeEnded`."""
        is_working = False
        async for line in stream:
            event = decode_json(line, dict[str, Any])
            about = as_object(event.get("properties"))
            kind = event.get("type")
            if kind == "permission.asked":  # also of a subagent
                for each in self._question(about):
                    yield each
            elif kind == "question.asked":
                await self._server.call("POST", f"/question/{about['id']}/reject", {})
            elif about.get("sessionID") != self._session:
                continue
            elif kind == "session.status":
                is_busy = about["status"].get("type") != "idle"
                if is_working and not is_busy:
                    break
                is_working = is_working or is_busy
            elif kind == "session.error":
                self._failed(as_object(about.get("error")))
            else:
                for each in self._changed(str(kind), about):
                    yield each
        for name in self._infos:
            for each in self._reply(name, ended=True):
                yield each

    def _failed(self, error: dict[str, Any]) -> None:
        self.aborted = error.get("name") == rows.ABORTED
        self.error = str(as_object(error.get("data")).get("message") or error.get("name") or "")

    def _changed(self, kind: str, about: dict[str, Any]) -> Iterator[ProviderEvent]:
        match kind:
            case "message.updated":
                info = _info(msgspec.json.encode(about["info"]))
                if info is None or info.role != "assistant" or not info.id:
                    return
                self._infos[info.id] = info
                if about["info"].get("error"):
                    self._failed(about["info"]["error"])
                if info.time and info.time.completed and not info.is_summary:
                    self.usage = rows.usage_of(info.tokens) or self.usage
                    yield from self._reply(info.id, ended=True)
            case "message.part.updated":
                part = _part(msgspec.json.encode(about["part"]))
                if part is not None and part.id and part.message_id:
                    self._parts.setdefault(part.message_id, {})[part.id] = part
                    self.was_compacted |= part.type == "compaction"
            case "message.part.delta" if about.get("field") == "text":
                part = self._parts.get(about["messageID"], {}).get(about["partID"])
                info = self._infos.get(about["messageID"])
                if part is not None and info is not None and not info.is_summary:
                    kind = "thinking" if part.type == "reasoning" else "text"
                    yield Delta(kind, about["delta"])
            case _:
                pass

    def _reply(self, message: str, *, ended: bool) -> Iterator[ProviderEvent]:
        """The parts of a message that were not told yet, and the results of its calls."""
        info = self._infos.get(message)
        if info is None or info.is_summary:
            return
        parts = self._parts.get(message, {})
        new = [each for name, each in parts.items() if name not in self._replied]
        if ended or any(each.type == "tool" for each in new):
            self._replied.update(parts)
            usage = rows.usage_of(info.tokens) if ended else None
            if said := tuple(rows.reply_of(new)):
                yield ProviderReply(said, info.model_id or "", usage)
        for part in parts.values():
            result = rows.result_of(part.state) if part.type == "tool" else None
            if result and part.call_id and part.call_id not in self._results:
                self._results.add(part.call_id)
                yield ProviderResult(part.call_id, *result)

    def _question(self, asked: dict[str, Any]) -> Iterator[ProviderEvent]:
        """The reply with the call comes before the question about it."""
        call = as_object(asked.get("tool"))
        parts = self._parts.get(str(call.get("messageID")), {})
        yield from self._reply(str(call.get("messageID")), ended=False)
        found = next((each for each in parts.values() if each.call_id == call.get("callID")), None)
        arguments: dict[str, Any] = {}
        if found is not None and found.state is not None and bytes(found.state.input):
            arguments = msgspec.json.decode(bytes(found.state.input), type=dict[str, Any])
        tool = (found.tool if found else None) or ""
        yield question_of(asked, tool, arguments, self._options.folder)
