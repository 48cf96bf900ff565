"""The requests that `context` accepts, declared once for every face.

The options of the command line and the schema of the MCP tool are generated from `ContextRequest`
and `ACTIONS`, so all faces offer the same.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

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
    "note",
]

BUDGET = 2_000
"""The default size of a resumption prompt, in tokens."""


class ContextRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An action with its arguments."""

    action: ActionName
    topic: Annotated[
        str, Meta(description="A topic or a chapter, in the words a person would use")
    ] = ""
    priority: Annotated[
        int, Meta(ge=1, description="The topic's place in the focus stack; 1 is the top")
    ] = 1
    background: Annotated[
        bool,
        Meta(description="Every chapter in the background or judged to be off the task"),
    ] = False
    all: Annotated[bool, Meta(description="Every chapter of the session, one archive each")] = False
    note: Annotated[
        Literal["", "goal", "decision", "question", "answer"],
        Meta(description="What the text declares; without it, the active notes are listed"),
    ] = ""
    text: Annotated[
        str, Meta(description="The statement, as one sentence that makes sense on its own")
    ] = ""
    replaces: Annotated[
        int, Meta(ge=0, description="The id of the note it replaces, 0 for none")
    ] = 0
    target_agent: Annotated[
        str, Meta(description="The agent that takes over, such as reviewer")
    ] = ""
    task: Annotated[str, Meta(description="The task of that agent")] = ""
    query: Annotated[str, Meta(description="Words to look for")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="The largest number of results")] = 20
    budget: Annotated[
        int, Meta(ge=100, le=100_000, description="The largest size of the prompt, in tokens")
    ] = BUDGET
    session: Annotated[
        str,
        Meta(
            description="A session id, the start of one, a transcript, or an agent; default: the "
            "current session"
        ),
    ] = ""
    transcript: Annotated[
        str, Meta(description="The path of a transcript to read; nothing is stored")
    ] = ""


class Action(Struct, frozen=True):
    """One action and its arguments besides `FOR_ALL`.

    `bare` is the argument that is typed without its name, and `first` one that is typed before it.
    `acts` is true if the action writes
    files and adds to the journal.
    """

    name: ActionName
    help: str
    takes: tuple[str, ...] = ()
    bare: str = ""
    first: str = ""
    acts: bool = False
    examples: tuple[str, ...] = ()


FOR_ALL = ("session", "transcript")
"""Arguments that every action takes."""

ACTIONS: tuple[Action, ...] = (
    Action(
        "estimate",
        "Show how full the context window is",
        examples=("estimate", "estimate --session 4cfa19"),
    ),
    Action(
        "breakdown",
        "Show what fills the context window, by kind, file and chapter",
        examples=("breakdown", "breakdown --json"),
    ),
    Action(
        "ledger",
        "Show what was done: files, commands, failures, decisions, open questions",
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
        "Save the conversation to readable files before it is lost",
        ("topic", "background", "all"),
        acts=True,
        examples=("archive", "archive --topic OAuth", "archive --background"),
    ),
    Action(
        "resume",
        "Print a prompt with which a model can continue the session",
        ("budget",),
        examples=("resume", "resume --budget 800"),
    ),
    Action(
        "prune", "Suggest what could be dropped and how many tokens that frees", examples=("prune",)
    ),
    Action(
        "drift",
        "Show the chapters of the session, with turns, tokens and files",
        examples=("drift", "drift --transcript session.jsonl --json"),
    ),
    Action(
        "handoff",
        "Write a handoff for another agent",
        ("target_agent", "task"),
        bare="target_agent",
        acts=True,
        examples=("handoff reviewer", "handoff reviewer --task 'Review the OAuth flow'"),
    ),
    Action(
        "search",
        "Search the session, the archives and the log",
        ("query", "limit"),
        bare="query",
        examples=("search token refresh",),
    ),
    Action(
        "note",
        "Note a goal, decision, question or answer, or list the active notes",
        ("note", "text", "replaces"),
        bare="text",
        first="note",
        acts=True,
        examples=(
            "note",
            "note goal Ship the OAuth login",
            "note answer Thirty days --replaces 12",
        ),
    ),
)


def action_named(name: ActionName) -> Action:
    """The action of that name."""
    return next(action for action in ACTIONS if action.name == name)
