"""A conversation on the terminal: the rows of its timeline as text, coloured by click."""

import click

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.display.timeline_text import TextStyle, conversation_lines
from sapwood.runtime.timeline_reader import read_conversation

__all__ = ["print_conversation"]


async def print_conversation(
    connection: Connection,
    agent: AgentId,
    width: int,
    *,
    whole: bool = False,
    everything: bool = False,
) -> None:
    """Prints what the model can see of a conversation, or with `everything` all of it.

    Long results of tools are cut unless `whole`.
    """
    read = await read_conversation(connection.log, connection.space, agent, everything=everything)
    for line in conversation_lines(read, width, whole=whole, paint=_painted):
        click.echo(line)


def _painted(text: str, style: TextStyle) -> str:
    match style:
        case "strong":
            return click.style(text, bold=True)
        case "faint":
            return click.style(text, dim=True)
        case "tool":
            return click.style(text, fg="cyan")
        case "error":
            return click.style(text, dim=True, fg="red")
        case "warning":
            return click.style(text, fg="yellow")
