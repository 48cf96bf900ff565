"""Events about the session that another agent program, such as Claude Code, keeps for an agent."""

from typing import ClassVar

from msgspec import Struct

from sapwood.core.context import ROOT, Context
from sapwood.core.program_session import NativeRows, ProgramSession


class SessionAssumed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The session of the program now has the history of `context`.

    `by` is how: one of `sapwood.programs.agent_provider.AssumedBy`, as plain text, so that ways of
    later versions can be read. `rows` are the keys of the rows that Sapwood appended to the
    transcript, `loss` says what could not be carried, and `pins` is the digest of the pins that the
    history began with.
    """

    kind: ClassVar = "session.assumed"

    session: ProgramSession
    by: str = ""
    context: Context = ROOT
    rows: tuple[str, ...] = ()
    loss: str = ""
    pins: str = ""


class NativeRecorded(Struct, frozen=True, gc=False):
    """The rows of the open turn in the transcript of the program that runs it."""

    kind: ClassVar = "native.recorded"

    rows: NativeRows


class SessionDiffered(Struct, frozen=True, gc=False):
    """The program sent another history than its session should have had; `text` says how."""

    kind: ClassVar = "session.differed"

    text: str


SessionEvent = SessionAssumed | NativeRecorded | SessionDiffered
