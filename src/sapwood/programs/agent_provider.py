"""The interface to agent providers: programs that run a loop of their own and keep a session.

Claude Code, Codex, opencode and pi are such programs. `sapwood.programs` has an adapter for each.
After every context command one verb, `sync_session`, brings the program's own session to exactly
the live path.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from sapwood.core.content import Ended, PromptPart, ReplyPart, Usage
from sapwood.core.model_calls import Delta
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import PermissionMode
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message


class ProgramInfo(Struct, frozen=True):
    """An installed program: its path and version, and whether its sessions can be changed in place.

    `in_place` is None until the program was probed, and false if the probe failed: then a new
    session is written instead, and `reason` says what differed. `tested` is when, in seconds.
    `logged_in` is None if that cannot be known without starting it.
    """

    program: str
    path: str
    version: str
    in_place: bool | None
    logged_in: bool | None = None
    reason: str = ""
    tested: float = 0.0


class ProviderOptions(Struct, frozen=True):
    """How a program is started: its folder, model, permission mode and further environment.

    An empty `model` means the program's own default.
    """

    folder: str
    model: str = ""
    system: str = ""
    mode: PermissionMode = "ask"
    environment: Mapping[str, str] = {}


class HistoryTurn(Struct, frozen=True):
    """A turn of the live path, and the program's own rows of it.

    `native` is None if our own loop ran the turn, or if its large results are masked now. It may
    also name rows of another program, or of another session: that of the agent's parent. Then
    `messages` is written: the turn as our view sends it, with labelled notes, one result for each
    call, and stubs of masked results.
    """

    turn: Turn
    native: NativeRows | None = None
    messages: tuple[Message, ...] = ()


class History(Struct, frozen=True):
    """The history that a session must contain: texts in front, such as a summary, then turns."""

    turns: tuple[HistoryTurn, ...]
    front: tuple[str, ...] = ()


SyncMethod = Literal["nothing", "cut", "boundary", "inject", "new_session"]
"""How a session took over a history, the cheapest way first.

`nothing`: it had this history. `cut`: its last turns were removed by the program itself.
`boundary`: a row was appended to its transcript. `inject`: the history was replaced in the running
program. `new_session`: a new session was written.
"""


class SyncResult(Struct, frozen=True):
    """The result of `sync_session`: the session that now has the history, and how.

    `rows` are the keys of the rows that were appended, so that an import passes over them. `loss`
    says what could not be carried; empty if everything was. `difference` says how the session as
    its program would load it differs from the history; empty if it does not.
    """

    session: ProgramSession
    by: SyncMethod
    rows: tuple[str, ...] = ()
    loss: str = ""
    difference: str = ""


class SessionBusy(Exception):
    """The session is open in its program, or was changed meanwhile. The message says what to do."""


class ProviderReply(Struct, frozen=True):
    """A whole message of the model."""

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"


class ProviderResult(Struct, frozen=True):
    """The result of a tool call that the program ran itself."""

    call: str
    content: str
    error: bool = False
    diff: str = ""


class ProviderQuestion(Struct, frozen=True):
    """The program asks whether a tool call may run. It waits until `answer` is called.

    `call` is the id of the tool call. `subject` is the command line or the path, `preview` the
    whole of what would run or change, and `arguments` the JSON of the call.
    """

    question: str
    call: str
    tool: str
    subject: str
    preview: str = ""
    arguments: str = "{}"
    folder: str = ""


class TurnEnd(Struct, frozen=True):
    """The turn ended. `rows` are the program's own rows of it, if they could be found.

    `difference` says how the program's request differed from the history that it should have had;
    empty if it did not differ.
    """

    status: Literal["completed", "interrupted", "failed"]
    reason: str = ""
    rows: NativeRows | None = None
    usage: Usage | None = None
    difference: str = ""


ProviderEvent = Delta | ProviderReply | ProviderResult | ProviderQuestion | TurnEnd


class ProviderAnswer(Struct, frozen=True):
    """The answer to a question: whether the call may run, and why not."""

    allowed: bool
    reason: str = ""


class AgentProvider(Protocol):
    """Runs turns in another program, and changes that program's sessions."""

    program: str

    def find(self) -> ProgramInfo | None:
        """The installed program; None if there is none. Starts it only to ask for its version."""
        ...

    def prove(self, *, again: bool = False) -> ProgramInfo | None:
        """The installed program, which is probed unless it was: this takes some seconds then."""
        ...

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts the program with a session, or with a new and empty one. Raises `Failure`.

        Does nothing if the session is running here with these options. It is called before every
        `send`, with the session that `start` or `sync_session` returned last.
        """
        ...

    def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs one turn and yields what happens; a `TurnEnd` comes last.

        `turn` is an id that is the same each time the same turn is sent: a turn that the program
        already has is not sent again, but its events are yielded. Raises `Failure`.
        """
        ...

    async def interrupt(self, session: ProgramSession) -> None:
        """Stops the running turn. `send` then yields its `TurnEnd`."""
        ...

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Answers a question."""
        ...

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Brings the session to exactly this history, whether it is running here or at rest.

        Without a session it makes one that begins with this history, for example for a fork. A
        session that has this history already stays as it is. Only ever appends to files of the
        program, after a private copy was made. Raises `SessionBusy` if another process has the
        session open.
        """
        ...

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if another process has the session open."""
        ...

    async def usage(self, session: ProgramSession) -> Usage | None:
        """The tokens of the session's last request, as the program reports them."""
        ...

    async def close(self, session: ProgramSession | None = None) -> None:
        """Ends the program of this session, or all of them."""
        ...

    async def kill(self) -> None:
        """Ends all programs at once, with everything that they started."""
        ...


class ToolPermit(Struct, frozen=True):
    """Whether a tool call of a program may run. `blocked` tells a person which rule allows it."""

    allowed: bool
    reason: str = ""
    blocked: str = ""


class ProgramAccess(Protocol):
    """The programs that can run turns. `sapwood.app` provides it."""

    def provider(self, program: str) -> AgentProvider:
        """The provider of this program. Raises `Failure` if it is not installed."""
        ...

    async def permit(self, state: State, question: ProviderQuestion) -> ToolPermit:
        """Decides about a tool call by permission rules, or asks a person."""
        ...

    def price(self, model: str, usage: Usage) -> int:
        """The price of a call by the price list, in millionths of a dollar; 0 if unknown."""
        ...
