"""The registry: the only place where a slash command is described.

Help, completion, the model's `slash` tool, prompts for other programs and the reference page are
generated from it.
"""

from typing import Literal

from msgspec import Struct

__all__ = ["BY_NAME", "COMMANDS", "SlashCommand", "for_models", "names"]

Who = Literal["both", "human"]


class SlashCommand(Struct, frozen=True):
    """One command. `while_open` says whether a person may give it while a turn is open."""

    name: str
    help: str
    usage: str = ""
    who: Who = "human"
    while_open: bool = True
    aliases: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.usage}".rstrip()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("mark", "Name this place, to come back to or to fork from", "[NAME]", "both"),
    SlashCommand(
        "clear",
        "Start afresh, keep the last N turns, or go back to a mark",
        "[N | MARK]",
        "both",
        while_open=False,
    ),
    SlashCommand("rewind", "Go back to a mark, or to the newest", "[MARK]", while_open=False),
    SlashCommand("undo", "Take the last context command back", while_open=False),
    SlashCommand("redo", "Take the last undo back", while_open=False),
    SlashCommand(
        "fork",
        "Make a child that sees this context, or what came after a mark",
        "[MARK] [-- GOAL]",
        "both",
    ),
    SlashCommand("send", "Send mail to a running agent, or to parent", "ID MESSAGE", "both"),
    SlashCommand("check-mail", "Read unread mail, oldest first", "[--peek]", "both"),
    SlashCommand("wait", "Wait for mail, or for agents to go idle", "[ID…] [SECONDS]", "both"),
    SlashCommand("kill", "End an agent and all its descendants", "ID", "both"),
    SlashCommand(
        "compact", "Put a summary in place of the history", "[--keep N]", "both", while_open=False
    ),
    SlashCommand("recall", "Search everything ever said", "QUERY", "both"),
    SlashCommand("new", "Archive this agent and start a fresh one in its place", while_open=False),
    SlashCommand("agents", "Show the tree of agents"),
    SlashCommand("switch", "Go to another agent", "ID"),
    SlashCommand("archive", "Put this agent to rest", while_open=False),
    SlashCommand("context", "Show what fills the window"),
    SlashCommand("pin", "Keep a text in every request", "NAME TEXT"),
    SlashCommand("unpin", "Take a pin out", "NAME"),
    SlashCommand("replay", "Show what the model saw at a call", "[CALL]"),
    SlashCommand("diff", "Show what differs between two contexts", "A B"),
    SlashCommand(
        "revert", "Take files and context back to a checkpoint", "[TURN]", while_open=False
    ),
    SlashCommand("model", "Show or change the model", "[NAME]"),
    SlashCommand("system", "Show or change the system prompt", "[TEXT]"),
    SlashCommand("config", "Show or change settings", "[NAME VALUE]"),
    SlashCommand("help", "List commands, or explain one", "[COMMAND]"),
    SlashCommand("exit", "Leave", aliases=("quit",)),
)

BY_NAME: dict[str, SlashCommand] = {
    name: command for command in COMMANDS for name in (command.name, *command.aliases)
}


def names() -> tuple[str, ...]:
    """Every name that can be typed, aliases included."""
    return tuple(BY_NAME)


def for_models() -> tuple[SlashCommand, ...]:
    """The commands that a model may give."""
    return tuple(command for command in COMMANDS if command.who == "both")
