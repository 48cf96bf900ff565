"""Prints a conversation on the terminal, and the origin of an imported one."""

from collections.abc import Collection, Iterator

import click

from sapwood.app.connection import Connection
from sapwood.cli.output_gate import styled
from sapwood.conversation.timeline_reader import read_conversation
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.state import State
from sapwood.display.text import one_line
from sapwood.display.timeline_text import TextStyle, conversation_lines
from sapwood.programs.registry import resume_command_for


async def print_conversation(
    connection: Connection,
    agent: AgentId,
    width: int,
    *,
    whole: bool = False,
    everything: bool = False,
    turns: Collection[EventRef] = (),
) -> None:
    """Prints what the model sees of a conversation, with `everything` all of it, or these turns.

    Cuts long tool results unless `whole`.
    """
    read = await read_conversation(
        connection.log, connection.space, agent, everything=everything, turns=turns
    )
    for line in conversation_lines(read, width, whole=whole, paint=_painted):
        click.echo(line)


def _painted(text: str, style: TextStyle) -> str:
    match style:
        case "strong":
            return styled(text, bold=True)
        case "faint":
            return styled(text, dim=True)
        case "tool":
            return styled(text, fg="cyan")
        case "error":
            return styled(text, dim=True, fg="red")
        case "warning":
            return styled(text, fg="yellow")


def origin_lines(state: State) -> Iterator[str]:
    """Yields where an imported agent comes from and how to resume it there; else nothing."""
    origin = state.origin
    if origin is None:
        return
    yield styled(f"Imported from {origin.source}: {one_line(origin.path)}", dim=True)
    if state.parent is None and (command := resume_command_for(origin.source, origin.session)):
        yield styled(f"To resume it there, type: {one_line(command)}", dim=True)
    yield ""
