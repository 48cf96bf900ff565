"""The table of slash commands: the only place where a command is described.

Help, completion, the model's `slash` tool, prompts for other programs, the guard for open turns,
the permissions of models and of remote clients, and the reference page read these rows.
`sapwood.conversation` binds one handler to each row. `UNTYPED` says who gives the commands of the
core that no slash command leads to. This module describes and does nothing.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from sapwood.core import commands

SLASH = "slash"
"""The name of the tool by which models use slash commands."""

ArgumentKind = Literal[
    "agent",
    "call",
    "command",
    "custom",
    "mark",
    "model",
    "name",
    "number",
    "permission",
    "pin",
    "rule",
    "setting",
    "text",
    "turn",
]
"""What an argument names. Completion offers what exists of that kind."""

Who = Literal["both", "human"]
Scope = Literal["read", "write", "approve"]
"""What a token for the server must allow: looking, changing, or deciding what tools may do."""
Giver = Literal["both", "person", "holder", "process", "system"]
"""Who gives a command of the core.

`both`: people and models. `person`: people. `holder`: the sender that has the lease of the open
turn. `process`: a process of Sapwood that has the database, for a person. `system`: Sapwood itself.
The first three are also accepted over the network.
"""
WithoutAgent = Literal["answers", "answers bare", "starts", "refused"]
OnSession = Literal["", "reads", "changes"]


class Argument(Struct, frozen=True):
    """One argument of a command.

    `flag` is typed before it; a flag without a name takes no value. `repeats` means that it can be
    given several times, `follows` that it is given together with the argument before it or not at
    all. `lines` means that it is free text, which may have several lines. Models cannot give one
    that is `by_people`.
    """

    name: str = ""
    kinds: tuple[ArgumentKind, ...] = ("text",)
    required: bool = False
    flag: str = ""
    repeats: bool = False
    follows: bool = False
    lines: bool = False
    by_people: bool = False

    @property
    def word(self) -> str:
        """The argument in the usage line."""
        return f"{self.flag} {self.name}".strip() + ("…" if self.repeats else "")


class SlashCommand(Struct, frozen=True):
    """One row of the table.

    `during_turn`: a person may use the command while a turn is open. `decides` are the commands of
    the core that it sends for a person, `by_model` those for a model, if they differ.
    `without_agent` is what happens if there is no conversation yet: the command answers (perhaps
    only without arguments), starts a conversation first, or is refused. `waits`: a model's call
    stays open until something happens. `slow`: a person may want to stop it before it answers.
    `uninterruptible`: once started it runs to its end, because half of it would be worse.
    `on_session` is what it does with the agent's session in another program, if there is one:
    nothing, it reads what is new there, or it changes the history there too.
    `scope` is what a token for the server must allow.
    `confirm` is what a screen says before it runs the command; the person presses enter again.
    `prompts`: it opens a turn, so a model must be there to answer.
    `remote`: clients of the server may send its commands of the core themselves.
    `leaves`: it leaves the conversation, for another one or to quit, so a face whose conversation
    is chosen elsewhere does not have it.
    `stopped` is what a screen says after a person stopped the command.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...] = ()
    who: Who = "human"
    during_turn: bool = True
    aliases: tuple[str, ...] = ()
    decides: tuple[type[commands.Command], ...] = ()
    by_model: tuple[type[commands.Command], ...] | None = None
    without_agent: WithoutAgent = "starts"
    waits: bool = False
    slow: bool = False
    uninterruptible: bool = False
    on_session: OnSession = ""
    scope: Scope = "write"
    confirm: str = ""
    prompts: bool = False
    remote: bool = True
    leaves: bool = False
    stopped: str = "Stopped. What was done by then is kept."

    @property
    def typed(self) -> str:
        """The name with its slash."""
        return f"/{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)

    @property
    def usage(self) -> str:
        """The arguments as help shows them: in brackets where they can be left out."""
        return _usage(self.arguments)

    @property
    def model_line(self) -> str:
        """The name and the arguments that a model may give, without the slash."""
        return f"{self.name} {_usage(tuple(a for a in self.arguments if not a.by_people))}".rstrip()

    @property
    def free_text(self) -> Argument | None:
        """The argument that may have several lines."""
        return next((each for each in self.arguments if each.lines), None)

    @property
    def line(self) -> str:
        """The name and the arguments."""
        return f"{self.typed} {self.usage}".rstrip()

    @property
    def for_models(self) -> tuple[type[commands.Command], ...]:
        """The commands of the core that a model's use leads to."""
        if self.who != "both":
            return ()
        return self.decides if self.by_model is None else self.by_model


def _usage(arguments: tuple[Argument, ...]) -> str:
    """The arguments as help shows them: in brackets where they can be left out."""
    groups: list[list[Argument]] = []
    for argument in arguments:
        if argument.follows:
            groups[-1].append(argument)
        else:
            groups.append([argument])
    words = [(" ".join(each.word for each in group), group[0].required) for group in groups]
    return " ".join(word if required else f"[{word}]" for word, required in words)


class CommandTable:
    """Rows in the order in which help lists them."""

    def __init__(
        self, rows: tuple[SlashCommand, ...], untyped: Mapping[type[commands.Command], Giver]
    ) -> None:
        self.rows = rows
        self.untyped = untyped
        self._indexed: tuple[SlashCommand, ...] | None = None
        self._names: dict[str, SlashCommand] = {}
        self._deciding: dict[type[commands.Command], SlashCommand] = {}
        self._models: frozenset[type[commands.Command]] = frozenset()

    def get(self, word: str) -> SlashCommand | None:
        """The row with this name or alias."""
        self._index()
        return self._names.get(word)

    def __getitem__(self, name: str) -> SlashCommand:
        """The row with this name. Raises `KeyError`."""
        self._index()
        return self._names[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be typed, aliases included."""
        self._index()
        return tuple(self._names)

    @property
    def for_models(self) -> tuple[SlashCommand, ...]:
        """The rows that a model may use."""
        return tuple(row for row in self.rows if row.who == "both")

    def row_of(self, command: type[commands.Command]) -> SlashCommand | None:
        """The row whose use leads to this command of the core."""
        self._index()
        return self._deciding.get(command)

    def giver_of(self, command: type[commands.Command]) -> Giver | None:
        """Who gives this command of the core; None if neither a row nor `untyped` has it."""
        row = self.row_of(command)
        if row is None:
            return self.untyped.get(command)
        if not row.remote:
            return "process"
        return "both" if command in row.for_models else "person"

    def lets_models(self, command: type[commands.Command]) -> bool:
        """Whether a model may give this command of the core."""
        self._index()
        return command in self._models or self.giver_of(command) in ("both", "holder")

    def is_remote(self, command: type[commands.Command]) -> bool:
        """Whether a client of the server may send this command of the core."""
        return self.giver_of(command) in ("both", "person", "holder")

    def label_of(self, command: type[commands.Command]) -> str:
        """What a refusal calls a command of the core: as it is typed, or by its name in words."""
        row = self.row_of(command)
        return row.typed if row else re.sub(r"(?<=.)([A-Z])", r" \1", command.__name__).capitalize()

    def _index(self) -> None:
        if self._indexed is not self.rows:
            self._names = {name: row for row in self.rows for name in row.names}
            self._deciding = {each: row for row in self.rows for each in row.decides}
            self._models = frozenset(each for row in self.rows for each in row.for_models)
            self._indexed = self.rows


_MARK = Argument("MARK", ("mark",))
_AGENT = Argument("ID", ("agent",), required=True)
_WORKTREE = Argument("[BRANCH]", ("name",), flag="--worktree", by_people=True)

UNTYPED: dict[type[commands.Command], Giver] = {
    commands.StartAgent: "person",
    commands.TagAgent: "person",
    commands.AddFile: "person",
    commands.QueuePrompt: "person",
    commands.UnqueuePrompt: "person",
    commands.StartTurn: "person",
    commands.RecordTurn: "person",
    commands.LeaseTurn: "person",
    commands.InterruptTurn: "both",
    commands.Compact: "person",
    commands.MaskResults: "person",
    # the `context` tool
    commands.Focus: "both",
    commands.Unfocus: "both",
    commands.DeclareNote: "both",
    # what records a turn
    commands.CallModel: "holder",
    commands.StreamReply: "holder",
    commands.AddReply: "holder",
    commands.StartTool: "holder",
    commands.FinishTool: "holder",
    commands.CompleteTurn: "holder",
    commands.FailTurn: "holder",
    commands.AskQuestion: "process",
    commands.StartJob: "process",
    commands.MakeCheckpoint: "process",
    commands.MissCheckpoint: "process",
    commands.DeferCompact: "process",
    commands.DropSummary: "process",
    commands.ReturnTo: "process",
    # sessions of agent programs, summaries in the background, and what a judge said
    commands.RecordSync: "system",
    commands.RecordNative: "system",
    commands.RecordDifference: "system",
    commands.RecordJudgement: "system",
    commands.ExtendSummary: "system",
}
"""Who gives the commands of the core that no slash command leads to."""

TABLE = CommandTable(
    (
        SlashCommand(
            "mark",
            "Bookmark this point to rewind to or fork from",
            (Argument("NAME", ("name",)),),
            "both",
            decides=(commands.SetMark,),
            on_session="reads",
        ),
        SlashCommand(
            "clear",
            "Clear the context, keep N turns, or go back to a mark",
            (Argument("N | MARK", ("number", "mark")),),
            "both",
            during_turn=False,
            decides=(commands.Clear, commands.KeepLast),
            by_model=(commands.Clear, commands.KeepLast, commands.Rewind),
            on_session="changes",
        ),
        SlashCommand(
            "drop",
            "Drop turns or tool results from the middle of the context",
            (
                Argument(flag="--results"),
                Argument("TURN", ("turn",), required=True, repeats=True),
            ),
            "both",
            during_turn=False,
            decides=(commands.Drop,),
            on_session="changes",
        ),
        SlashCommand(
            "rewind",
            "Go back to a mark, or to just before a turn",
            (Argument("MARK | TURN", ("mark", "turn")),),
            during_turn=False,
            decides=(commands.Rewind,),
            on_session="changes",
        ),
        SlashCommand(
            "edit",
            "Go back to just before a turn and edit its prompt",
            (Argument("TURN", ("turn",)),),
            during_turn=False,
            on_session="changes",
        ),
        SlashCommand(
            "retry",
            "Ask your last prompt again",
            during_turn=False,
            without_agent="refused",
            on_session="changes",
            prompts=True,
        ),
        SlashCommand(
            "undo",
            "Undo the last context command",
            (Argument(flag="--anyway"),),
            during_turn=False,
            decides=(commands.Undo,),
            on_session="changes",
        ),
        SlashCommand(
            "redo",
            "Redo the last undone command",
            during_turn=False,
            decides=(commands.Redo,),
            on_session="changes",
        ),
        SlashCommand(
            "fork",
            "Start a child from here or from a mark",
            (
                _MARK,
                _WORKTREE,
                Argument("MODEL", ("model",), flag="--with", by_people=True),
                Argument("GOAL", flag="--", lines=True),
            ),
            "both",
            decides=(commands.Fork,),
        ),
        SlashCommand(
            "btw",
            "Ask a side question that does not stay in view",
            (Argument("QUESTION", required=True, lines=True),),
            decides=(commands.RecordSideAnswer,),
            slow=True,
            stopped="Stopped.",
        ),
        SlashCommand(
            "send",
            "Send mail to a running agent, or to your parent",
            (_AGENT, Argument("MESSAGE", required=True, lines=True)),
            "both",
            decides=(commands.Send,),
        ),
        SlashCommand(
            "check-mail",
            "Read unread mail, oldest first",
            (Argument(flag="--peek"),),
            "both",
            decides=(commands.ReadMail,),
        ),
        SlashCommand(
            "wait",
            "Wait for mail, or until agents are idle",
            (Argument("ID", ("agent",), repeats=True), Argument("SECONDS", ("number",))),
            "both",
            without_agent="refused",
            waits=True,
            slow=True,
            scope="read",
        ),
        SlashCommand(
            "kill",
            "End an agent and all its descendants",
            (_AGENT,),
            "both",
            decides=(commands.Kill,),
            confirm="/kill ends the agent and all its descendants permanently.",
        ),
        SlashCommand(
            "compact",
            "Replace the history with a summary",
            (
                Argument("N", ("number",), flag="--keep"),
                Argument(flag="--anyway", by_people=True),
                Argument("WHAT TO KEEP", by_people=True),
            ),
            "both",
            during_turn=False,
            by_model=(commands.DeferCompact,),
            slow=True,
            on_session="changes",
        ),
        SlashCommand(
            "recall",
            "Search all messages, including those out of view",
            (Argument("QUERY", required=True),),
            "both",
            aliases=("search",),
            without_agent="answers",
            scope="read",
        ),
        SlashCommand(
            "bring",
            "Bring turns back into view, in place or as quotations",
            (Argument("TURN", ("turn", "text"), required=True, repeats=True),),
            "both",
            during_turn=False,
            aliases=("load",),
            decides=(commands.Load, commands.Restore),
            on_session="changes",
        ),
        SlashCommand(
            "new",
            "Archive this agent and start a new one in its place",
            during_turn=False,
            decides=(commands.StartSuccessor,),
            leaves=True,
        ),
        SlashCommand(
            "start",
            "Start a second conversation",
            (_WORKTREE,),
            without_agent="refused",
            leaves=True,
        ),
        SlashCommand("agents", "Show the tree of agents", without_agent="answers", scope="read"),
        SlashCommand(
            "switch",
            "Switch to another agent or past conversation",
            (_AGENT,),
            aliases=("sessions", "resume"),
            without_agent="answers",
            scope="read",
            leaves=True,
        ),
        SlashCommand(
            "archive", "Archive this agent", during_turn=False, decides=(commands.Archive,)
        ),
        SlashCommand(
            "unarchive", "Reopen this archived conversation", decides=(commands.Unarchive,)
        ),
        SlashCommand(
            "rename",
            "Rename this conversation",
            (Argument("NAME", ("name",), required=True),),
            decides=(commands.Rename,),
        ),
        SlashCommand(
            "answer",
            "Answer a pending question: yes, always, no, a number or text",
            (Argument("ANSWER"), Argument("REASON")),
            decides=(commands.AnswerQuestion,),
            without_agent="refused",
            scope="approve",
        ),
        SlashCommand(
            "context", "Show what fills the context window", without_agent="refused", scope="read"
        ),
        SlashCommand(
            "pin",
            "Keep some text or a file in every request",
            (
                Argument("NAME", ("name",), required=True),
                Argument("TEXT | @FILE", required=True, lines=True),
            ),
            decides=(commands.AddPin,),
        ),
        SlashCommand(
            "unpin",
            "Remove a pin",
            (Argument("NAME", ("pin",), required=True),),
            decides=(commands.RemovePin,),
        ),
        SlashCommand(
            "replay",
            "Show exactly what the model saw in a call",
            (Argument("CALL", ("call",)),),
            without_agent="refused",
            scope="read",
        ),
        SlashCommand(
            "diff",
            "Compare two contexts",
            (
                Argument("MARK | TURN", ("mark",), required=True),
                Argument("MARK | TURN", ("mark",)),
            ),
            without_agent="refused",
            scope="read",
        ),
        SlashCommand(
            "revert",
            "Restore files and context to before a turn",
            (Argument("TURN | back", ("turn",)), Argument(flag="--anyway")),
            during_turn=False,
            uninterruptible=True,
            decides=(commands.StartRevert, commands.FinishRevert),
            remote=False,
            confirm="/revert replaces files. The current ones are saved first.",
        ),
        SlashCommand(
            "shell",
            "Run a shell command yourself; same as !COMMAND",
            (Argument(flag="--private"), Argument("COMMAND", required=True, lines=True)),
            decides=(commands.RecordShell,),
            slow=True,
            stopped="Stopped.",
            scope="approve",
        ),
        SlashCommand(
            "jobs",
            "List background commands, show the output of one, or end one",
            (Argument("NUMBER | end NUMBER"),),
            decides=(commands.EndJob,),
            without_agent="refused",
        ),
        SlashCommand(
            "use",
            "Send a custom command or a skill; same as /NAME",
            (Argument("NAME", ("custom",)), Argument("ARGUMENTS", lines=True)),
            prompts=True,
        ),
        SlashCommand(
            "model",
            "Show or change the model",
            (Argument("NAME", ("model",)),),
            without_agent="answers bare",
        ),
        SlashCommand(
            "system",
            "Show or change the system prompt",
            (Argument("TEXT", lines=True),),
            without_agent="answers bare",
        ),
        SlashCommand(
            "config",
            "Show or change settings",
            (Argument("NAME", ("setting",)), Argument("VALUE", follows=True)),
            decides=(commands.Configure,),
            without_agent="answers bare",
        ),
        SlashCommand(
            "permissions",
            "Show or change what tools may do",
            (
                Argument("MODE | allow | deny | remove", ("permission",)),
                Argument("RULE", ("rule",), follows=True),
            ),
            without_agent="answers bare",
            scope="approve",
        ),
        SlashCommand(
            "todo",
            "Show the to-do list, or replace it: [ ], [~] or [x] a line",
            (Argument("LIST | none", lines=True),),
            "both",
            decides=(commands.WriteTodo,),
            without_agent="refused",
        ),
        SlashCommand(
            "accept-plan",
            "Accept the plan: pin it and have it carried out",
            (Argument("MODE", ("permission",)),),
            during_turn=False,
            without_agent="refused",
            scope="approve",
            prompts=True,
        ),
        SlashCommand(
            "goal",
            "Work on it until a check passes",
            (
                Argument("TEXT | continue | stop", lines=True),
                Argument("CMD", flag="--check"),
                Argument("N|Nk|$N", flag="--budget"),
            ),
            decides=(commands.SetGoal, commands.EndGoal),
            remote=False,
            scope="approve",
        ),
        SlashCommand(
            "init",
            "Have the model write an AGENTS.md",
            (Argument("WHAT", lines=True),),
            during_turn=False,
            prompts=True,
        ),
        SlashCommand(
            "review",
            "Review uncommitted changes on the side, or here",
            (Argument(flag="--here"), Argument("WHAT", lines=True)),
            slow=True,
            stopped="Stopped.",
        ),
        SlashCommand(
            "help",
            "List commands, or explain one or a topic such as hooks",
            (Argument("COMMAND | TOPIC", ("command",)),),
            without_agent="answers",
            scope="read",
        ),
        SlashCommand(
            "exit", "Quit", aliases=("quit",), without_agent="answers", scope="read", leaves=True
        ),
    ),
    UNTYPED,
)
"""The commands of Sapwood."""

HELP_TOPICS: dict[str, str] = {
    "hooks": "Commands that run at PreToolUse, PostToolUse, UserPromptSubmit, "
    "SessionStart or Stop, as in Claude Code. Exit code 2 blocks. To add one, type in a shell: "
    'sapwood config set hooks.NAME \'{event = "Stop", command = "just test"}\'',
    "skills": "Skills and custom commands come from the folders of Claude Code and Codex. /use "
    "lists them with their source, and /NAME sends one",
    "files": "@ lists files as you type. The text of a file that you name is sent with your "
    "prompt; @FILE:10-40 sends these lines, and an image is sent as an image",
    "keys": "F1 lists every key. To change one, type in a shell: "
    "sapwood config set screen.keys.sidebar f5",
    "mcp": "Tools of MCP servers. To add a server, type in a shell: "
    'sapwood config set servers.NAME \'{command = ["files", "--here"]}\'. sapwood mcp list shows '
    "whether each is connected, and sapwood mcp login NAME logs in to one",
}
"""What `/help` says of things that are no commands."""

HELP_DETAILS: dict[str, str] = {
    "goal": "--check is a shell command that runs after each turn and has to pass. --budget 3 is "
    "turns, 200k tokens and $2 money; without it, 10 turns. /goal shows the goal, /goal continue "
    "works on it after a restart, /goal --budget 10 gives it more, and /goal stop ends it",
    "jobs": "/jobs 2 shows what the second one has printed, /jobs end 2 ends it. All end when "
    "you exit Sapwood",
    "todo": "One item a line: [ ] is open, [~] is being done, [x] is done. /todo none empties it",
    "review": "WHAT says what to look at in particular. --here reviews in this conversation; "
    "otherwise in a fork, and only the answer is shown here",
}
"""What `/help COMMAND` says of the options of a command."""
