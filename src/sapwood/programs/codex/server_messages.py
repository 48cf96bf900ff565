"""The parts of the app server's notifications that are used here."""

import msgspec
from msgspec import Struct


class FileChange(Struct):
    """A change of one file."""

    path: str = ""
    diff: str = ""


class ThreadItem(Struct):
    """Something that happens in a turn: words, or a tool at work."""

    type: str = ""
    id: str = ""
    changes: list[FileChange] = []

    @property
    def is_tool(self) -> bool:
        """Whether it is neither words of the model nor of the user."""
        return self.type not in ("agentMessage", "reasoning", "userMessage", "plan")

    @property
    def shown_changes(self) -> str:
        """The changes of files that it makes."""
        return "\n".join(f"{change.path}\n{change.diff}" for change in self.changes)


class TokenCount(Struct, rename="camel"):
    """The tokens of one request."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(Struct):
    """The tokens of the last request."""

    last: TokenCount


class TurnError(Struct):
    """Why a turn failed."""

    message: str = ""


class EndedTurn(Struct):
    """How a turn ended."""

    id: str = ""
    status: str = ""
    error: TurnError | None = None


class NotificationParams(Struct, rename="camel"):
    """The parameters of a notification or a question, of whatever kind it is."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    delta: str = ""
    summary_index: int = 0
    item: ThreadItem | None = None
    turn: EndedTurn | None = None
    token_usage: TokenUsage | None = None


_decode = msgspec.json.Decoder(NotificationParams).decode


def decode_params(params: msgspec.Raw) -> NotificationParams:
    """The parameters; empty ones if they have another form than is known.

    >>> decode_params(msgspec.Raw(b'{"threadId": "t", "delta": "Hel"}')).delta
    'Hel'
    """
    try:
        return _decode(params)
    except msgspec.MsgspecError:
        return NotificationParams()
