"""What can be asked of the gardener: the one declaration behind `context` on every face.

The options of the command line and the schema of the MCP tool are both made of `Errand` and
`ACTIONS`, so a face cannot offer what another does not know.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["ACTIONS", "BUDGET", "FOR_ALL", "Action", "ActionName", "Errand", "action_named"]

ActionName = Literal[
    "estimate",
    "breakdown",
    "ledger",
    "focus",
    "unfocus",
    "archive",
    "resume",
    "prune",
    "drift",
    "handoff",
    "search",
]

BUDGET = 2_000
"""Tokens of a resumption prompt, if nothing else is said."""


class Errand(Struct, frozen=True, forbid_unknown_fields=True):
    """An action with its arguments."""

    action: ActionName
    topic: Annotated[str, Meta(description="A topic, in the words a person would use")] = ""
    priority: Annotated[
        int, Meta(ge=1, description="The topic's place in the focus stack; 1 is the top")
    ] = 1
    background: Annotated[
        bool, Meta(description="Every topic that went to the background or is off the task")
    ] = False
    all: Annotated[bool, Meta(description="Every topic of the session, one archive each")] = False
    target_agent: Annotated[str, Meta(description="Who takes over, such as reviewer")] = ""
    task: Annotated[str, Meta(description="What that agent is to do")] = ""
    query: Annotated[str, Meta(description="Words to look for")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="At most so many")] = 20
    budget: Annotated[
        int, Meta(ge=100, le=100_000, description="At most so many tokens of prompt")
    ] = BUDGET
    session: Annotated[
        str,
        Meta(description="A session's id or its start, or an agent; else the current one here"),
    ] = ""
    transcript: Annotated[
        str, Meta(description="A transcript's path: it is looked at and nothing is stored")
    ] = ""


class Action(Struct, frozen=True):
    """One action: the arguments it takes besides `FOR_ALL`, and which is given without a name.

    `acts` says that it writes files and is told in the journal.
    """

    name: ActionName
    help: str
    takes: tuple[str, ...] = ()
    bare: str = ""
    acts: bool = False
    examples: tuple[str, ...] = ()


FOR_ALL = ("session", "transcript")
"""Arguments that every action takes."""

ACTIONS: tuple[Action, ...] = (
    Action(
        "estimate", "Say how full the window is", examples=("estimate", "estimate --session 4cfa19")
    ),
    Action(
        "breakdown",
        "Show what fills the window, by kind, by file and by topic",
        examples=("breakdown", "breakdown --json"),
    ),
    Action(
        "ledger",
        "Tell what was done: files, commands, failures, decisions, open questions",
        examples=("ledger", "ledger --transcript session.jsonl --json"),
    ),
    Action(
        "focus",
        "Put a topic on top of the focus stack, or show the stack",
        ("topic", "priority"),
        bare="topic",
        acts=True,
        examples=("focus OAuth for mobile", "focus"),
    ),
    Action(
        "unfocus",
        "Send a topic to the background",
        ("topic",),
        bare="topic",
        acts=True,
        examples=("unfocus OAuth for mobile",),
    ),
    Action(
        "archive",
        "Write what was said to readable files, before it is lost",
        ("topic", "background", "all"),
        acts=True,
        examples=("archive", "archive --topic OAuth", "archive --background"),
    ),
    Action(
        "resume",
        "Print a prompt that lets a model go on",
        ("budget",),
        examples=("resume", "resume --budget 800"),
    ),
    Action("prune", "Advise what could be forgotten, and what that frees", examples=("prune",)),
    Action(
        "drift",
        "Show the share of each topic against the original task",
        examples=("drift", "drift --transcript session.jsonl --json"),
    ),
    Action(
        "handoff",
        "Write a package for another agent",
        ("target_agent", "task"),
        bare="target_agent",
        acts=True,
        examples=("handoff reviewer", "handoff reviewer --task 'Review the OAuth flow'"),
    ),
    Action(
        "search",
        "Find where words were said",
        ("query", "limit"),
        bare="query",
        examples=("search token refresh",),
    ),
)


def action_named(name: ActionName) -> Action:
    """The action of that name."""
    return next(action for action in ACTIONS if action.name == name)
