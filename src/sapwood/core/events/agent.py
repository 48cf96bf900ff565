"""Events in the life of an agent: start, settings, pins, focus, forks, the end."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.calibration import Calibration
from sapwood.core.content import PromptPart
from sapwood.core.context import ROOT, Context
from sapwood.core.ids import AgentId
from sapwood.core.origin import Origin
from sapwood.core.settings import Settings, SettingsChange, Workspace

__all__ = [
    "AgentArchived",
    "AgentEvent",
    "AgentForked",
    "AgentKilled",
    "AgentStarted",
    "Focused",
    "Pin",
    "PinAdded",
    "PinRemoved",
    "SettingsChanged",
    "Unfocused",
]


class Pin(Struct, frozen=True, gc=False):
    """Text that is in every request, whatever is trimmed."""

    name: str
    text: str


class AgentStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """The first event of every log. A fork starts with its parent's context, others at the root.

    An imported agent has an `origin`: its turns ran elsewhere, and more may come from there. What
    was learnt about counting for a model is passed on in `calibration`, and in `offered` how large
    the schemas of the tools were.
    """

    kind: ClassVar = "agent.started"

    by: Literal["person", "fork", "succession", "import"] = "person"
    name: str = ""
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[Pin, ...] = ()
    parent: AgentId | None = None
    mark: str = ""
    context: Context = ROOT
    origin: Origin | None = None
    calibration: dict[str, Calibration] = {}
    offered: int = 0


class AgentForked(Struct, frozen=True, omit_defaults=True, gc=False):
    """In the parent's log: a child was made, perhaps from a mark, perhaps with a goal.

    A `delegated` goal was part of what the user sent to the parent, so its model hears of it with
    the next prompt.
    """

    kind: ClassVar = "agent.forked"

    child: AgentId
    mark: str = ""
    goal: tuple[PromptPart, ...] = ()
    delegated: bool = False


class AgentArchived(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent rests. Its log stays readable; `successor` went on in its workspace."""

    kind: ClassVar = "agent.archived"

    successor: AgentId | None = None


class AgentKilled(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent was ended, alone or because `target`, an ancestor, was."""

    kind: ClassVar = "agent.killed"

    target: AgentId
    by: AgentId | None = None


class SettingsChanged(Struct, frozen=True, gc=False):
    """Some settings have new values from here on."""

    kind: ClassVar = "settings.changed"

    change: SettingsChange


class PinAdded(Struct, frozen=True, gc=False):
    """A pin was set, or replaced under the same name."""

    kind: ClassVar = "pin.added"

    pin: Pin


class PinRemoved(Struct, frozen=True, gc=False):
    """A pin was taken out."""

    kind: ClassVar = "pin.removed"

    name: str


class Focused(Struct, frozen=True, gc=False):
    """A topic came into focus; 1 is the highest priority."""

    kind: ClassVar = "topic.focused"

    topic: str
    priority: int = 1


class Unfocused(Struct, frozen=True, gc=False):
    """A topic went to the background."""

    kind: ClassVar = "topic.unfocused"

    topic: str


AgentEvent = (
    AgentStarted
    | AgentForked
    | AgentArchived
    | AgentKilled
    | SettingsChanged
    | PinAdded
    | PinRemoved
    | Focused
    | Unfocused
)
