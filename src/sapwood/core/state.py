"""What the fold of an agent's log gives. Bounded: it holds no turn but references to them.

A state of a million events is as small as one of ten, which is what makes opening an agent cost
the same at any age.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.calibration import Calibration
from sapwood.core.checkpoint import Destination
from sapwood.core.content import Note, Usage
from sapwood.core.context import ROOT, Context, Mark, Step
from sapwood.core.events import ClearDeferred, Pin
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.origin import Origin, Passage
from sapwood.core.settings import Settings, Workspace

__all__ = [
    "BACKGROUND_KEPT",
    "FOCUS_LIMIT",
    "MARKS_KEPT",
    "PINS_LIMIT",
    "UNDO_DEPTH",
    "WAITING_LIMIT",
    "Files",
    "Focus",
    "Letter",
    "OpenTurn",
    "Reverting",
    "State",
    "Status",
]

UNDO_DEPTH = 64
"""How many context commands can be taken back."""

MARKS_KEPT = 256
"""How many marks an agent holds; setting one more drops the oldest."""

PINS_LIMIT = 64
"""How many pins an agent holds; one more is refused."""

WAITING_LIMIT = 256
"""How many letters and notes wait for an agent; further mail is refused until they are read."""

FOCUS_LIMIT = 64
"""How many topics are in focus; one more is refused."""

BACKGROUND_KEPT = 64
"""How many topics are in the background; one more drops the oldest."""

Status = Literal["none", "running", "archived", "killed"]


class OpenTurn(Struct, frozen=True, omit_defaults=True):
    """What must be known of the open turn without reading it.

    `calls` have no result yet, `started` are those among them that may have had effects. `asked` is
    the version of the last model call if it has no reply yet, and `estimate` its raw count.
    """

    first: int
    parent: TurnRef | None
    calls: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    asked: int = 0
    estimate: int = 0
    called: str = ""
    deferred: ClearDeferred | None = None


class Letter(Struct, frozen=True, omit_defaults=True):
    """Mail that was not read yet.

    >>> Letter("m1", "The build is red.", sender="abc123").sender
    'abc123'
    """

    mail: str
    text: str
    sender: str = ""


class Focus(Struct, frozen=True):
    """A topic in focus, since when, and how important; 1 comes first."""

    topic: str
    priority: int
    since: int


class Files(Struct, frozen=True):
    """The files as the log last heard of them: where it did, and their tree if that is known."""

    version: int
    tree: str


class Reverting(Struct, frozen=True):
    """A revert that was started at a version and is not finished."""

    started: int
    to: Destination


class State(Struct, frozen=True, omit_defaults=True):
    """One agent, as of one version of its log. `slid` is where the window moved `head` last.

    `upto` is where in its transcript the newest turn of an imported agent stands, `offered` the raw
    count of the tools' schemas that were sent with the last model call.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo", pins={"style": "Be brief."})
    ...     state = agent.state()
    ...     print(state.status, state.version, [pin.name for pin in state.pins])
    running 1 ['style']
    """

    agent: AgentId
    version: int = 0
    status: Status = "none"
    name: str = ""
    parent: AgentId | None = None
    created: int = 0
    updated: int = 0
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[Pin, ...] = ()
    context: Context = ROOT
    open: OpenTurn | None = None
    marks: tuple[Mark, ...] = ()
    undo: tuple[Step, ...] = ()
    redo: tuple[Step, ...] = ()
    slid: int = 0
    notes: tuple[Note, ...] = ()
    inbox: tuple[Letter, ...] = ()
    focus: tuple[Focus, ...] = ()
    background: tuple[str, ...] = ()
    calibration: dict[str, Calibration] = {}
    offered: int = 0
    spent: Usage = Usage(0)
    origin: Origin | None = None
    upto: Passage | None = None
    files: Files | None = None
    reverting: Reverting | None = None

    def ratio(self, model: str = "") -> Calibration:
        """What the provider's reports taught about counting for a model."""
        return self.calibration.get(model or self.settings.model, Calibration())
