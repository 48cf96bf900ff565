"""`sapwood export`: writes a conversation to a file.

Pages that plug-ins add, by entry points of the group `sapwood.pages`.

A page is a document that shows one conversation. `sapwood export --format NAME` writes it.
"""

from typing import TYPE_CHECKING, Protocol, cast

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.console import write_output
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT
from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.plugins import load_plugin, plugin_names

if TYPE_CHECKING:
    from sapwood.app.connection import Connection


_TEXT_WIDTH = 88


@subcommand(
    examples=[
        "sapwood export demo > demo.md",
        "sapwood export demo --everything -o demo.md",
        "sapwood export demo --json -o demo.jsonl",
        "sapwood export demo --html --everything -o demo.html",
    ]
)
@click.argument("agent", type=AGENT)
@click.option(
    "-f",
    "--format",
    "form",
    default="markdown",
    show_default=True,
    help="markdown, text, json, html, or the name of a page of a plug-in.",
)
@json_option("The same as --format json.")
@click.option("--html", "as_html", is_flag=True, help="The same as --format html.")
@click.option("-o", "--output", metavar="FILE", help="Write to this file instead of stdout.")
@click.option("--everything", is_flag=True, help="Include messages that the model no longer sees.")
@click.pass_obj
def command(
    invocation: Invocation,
    agent: str,
    form: str,
    as_json: bool,
    as_html: bool,
    output: str | None,
    everything: bool,
) -> None:
    """Export a conversation as Markdown, text, JSON or HTML.

    Markdown, text and HTML contain what the model sees, and with --everything also what it no
    longer sees. JSON is always the whole log, one event per line. The HTML file works offline and
    without scripts.
    """
    form = "json" if as_json else "html" if as_html else form
    text = invocation.run(lambda: _export(invocation, agent, form, everything))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_output(output, text)
        click.echo(f"Wrote {output}.", err=True)


async def _export(invocation: Invocation, typed: str, form: str, everything: bool) -> str:
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        if form == "json":
            return await _json(connection, agent)
        if form in ("markdown", "text"):
            return await _rows(connection, agent, form, everything)

        return await load_page(form)(connection, agent, everything=everything)


async def _json(connection: "Connection", agent: "AgentId") -> str:
    from sapwood.cli.output.event_text import event_value, json_line

    events = await connection.log.read(connection.space, agent)
    return "".join(f"{json_line(event_value(recorded))}\n" for recorded in events)


async def _rows(connection: "Connection", agent: "AgentId", form: str, everything: bool) -> str:
    from sapwood.conversation.timeline_reader import read_conversation
    from sapwood.display.timeline_text import conversation_lines, conversation_markdown

    read = await read_conversation(connection.log, connection.space, agent, everything=everything)
    if form == "text":
        lines = conversation_lines(read, _TEXT_WIDTH, whole=True)
        return "".join(f"{line}\n" for line in lines)
    opened = await connection.dispatcher.open(agent)
    return conversation_markdown(opened.state, read)


class ExportPage(Protocol):
    """What the entry point of a page names."""

    async def __call__(self, space: OpenSpace, agent: AgentId, *, everything: bool) -> str:
        """Returns the document; with `everything`, also with turns that left view."""
        ...


def load_page(name: str) -> ExportPage:
    """Returns the page with this name. Raises `SapwoodError` if there is none."""
    found = load_plugin("pages", name)
    if found is None:
        known = ", ".join(["markdown", "text", "json", *plugin_names("pages")])
        raise SapwoodError(f"There is no format '{name}'. Choose one of: {known}")
    return cast("ExportPage", found)
