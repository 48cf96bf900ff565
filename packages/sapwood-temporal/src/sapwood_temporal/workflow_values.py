"""What is stored in Temporal: the names of workflows, signals and activities, and their arguments.

Workers of several versions share a Temporal namespace, and a workflow may be continued by a newer
version. So names stay as they are, and new fields get defaults. Classes are dataclasses because
Temporal's converter stores these as JSON.
"""

import hashlib
from dataclasses import dataclass, field
from urllib.parse import quote

from sapwood.core.ids import AgentId, Space

AGENT, LIMIT = "sapwood.agent", "sapwood.limit"
"""The workflows: one for each agent that has work to do, one for each limit that is in use."""

DRIVE, LIMITS = "sapwood.drive", "sapwood.limits"
"""The activities: drive an agent; tell, without a call to the server, which limits hold."""

WAKE, GRANTED = "wake", "granted"
"""The signals to the workflow of an agent: it was woken; a slot of a limit was given to it."""

REQUEST, RELEASE = "request", "release"
"""The signals to the workflow of a limit, from the workflow of an agent."""

_MAX_PART = 200
_MAX_FAIRNESS_KEY = 64


@dataclass(frozen=True)
class Limit:
    """At most so many drives at once have this key, such as a model or a user."""

    key: str
    at_most: int


@dataclass(frozen=True)
class Wake:
    """A wake after `delay` seconds, and the model and user that limits count."""

    delay: float = 0.0
    model: str = ""
    user: str = ""


@dataclass(frozen=True)
class LimitQuery:
    """Asks the worker which limits hold for a drive."""

    space: str
    model: str
    user: str


@dataclass(frozen=True)
class AgentRun:
    """Starts the workflow of an agent. `wake` and `due` are what an earlier run left to do.

    `queue` is the task queue. `dead_after` is how long the worker of a drive may be silent before
    another one gets the drive, in seconds.
    """

    queue: str
    space: str
    agent: str
    dead_after: float
    wake: Wake | None = None
    due: list[int] = field(default_factory=list[int])
    """Seconds since 1970."""


@dataclass(frozen=True)
class DriveOrder:
    """The agent to drive."""

    space: str
    agent: str


@dataclass(frozen=True)
class SlotRequest:
    """A slot that the workflow of an agent asks for, has, or gives back."""

    workflow: str
    run: str
    number: int


@dataclass(frozen=True)
class LimitRun:
    """Starts the workflow of a limit, with those who have a slot and those who wait, in order."""

    limit: Limit
    holders: list[SlotRequest] = field(default_factory=list[SlotRequest])
    waiting: list[SlotRequest] = field(default_factory=list[SlotRequest])


def agent_workflow_id(queue: str, space: Space, agent: AgentId) -> str:
    """The id of an agent's workflow. The task queue is part of it: a queue serves one log.

    >>> agent_workflow_id("sapwood", Space("main"), AgentId("ada/2"))
    'sapwood/main/ada%2F2'
    """
    return f"{queue}/{_part(space)}/{_part(agent)}"


def limit_workflow_id(queue: str, key: str) -> str:
    """The id of the workflow that counts the drives of a key.

    >>> limit_workflow_id("sapwood", "model:oak")
    'sapwood//limit/model:oak'
    """
    return f"{queue}//limit/{_part(key)}"


def fairness_key(name: str) -> str:
    """A name as Temporal's fairness takes it: at most 64 bytes."""
    if len(name.encode()) <= _MAX_FAIRNESS_KEY:
        return name
    return _digest(name)


def _part(name: str) -> str:
    quoted = quote(name, safe=":@ ,")
    if len(quoted) <= _MAX_PART:
        return quoted
    return f"{quoted[: _MAX_PART // 2]}~{_digest(name)}"


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=24).hexdigest()
