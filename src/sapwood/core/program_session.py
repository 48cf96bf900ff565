"""Sessions of other agent programs, such as Claude Code and Codex, and the rows of a turn there."""

from msgspec import Struct

from sapwood.core.context import ROOT, Context
from sapwood.core.ids import TranscriptRange
from sapwood.core.machine_paths import MachinePath


class ProgramSession(Struct, frozen=True, omit_defaults=True, gc=False):
    """A session of an agent program: its id there, and the path of its transcript.

    >>> ProgramSession("claude-code", "4cfa198d-2bff-4ecc-8825-6583da7ea71a").program
    'claude-code'
    """

    program: str
    id: str
    path: MachinePath = ""


class SyncedSession(Struct, frozen=True, omit_defaults=True):
    """The session of an agent in a program, and the context whose history it has.

    `pins` is the digest of the pins that this history begins with; empty if there are none.
    """

    session: ProgramSession
    context: Context = ROOT
    pins: str = ""


class NativeRows(Struct, frozen=True, omit_defaults=True, gc=False):
    """The rows that a program stored for one turn.

    `passage` names the first and the last of them, `hash` is the SHA-256 of their bytes, and `turn`
    is the id that the program gave to the turn, if it has such ids. A session without an id is the
    one from which the turn was imported.
    """

    session: ProgramSession
    passage: TranscriptRange
    hash: str = ""
    turn: str = ""
