"""`sapwood export`: a conversation in a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.core.ids import AgentId

__all__ = ["command"]


@subcommand(
    examples=[
        "sapwood export demo > demo.md",
        "sapwood export demo --everything -o demo.md",
        "sapwood export demo --format json -o demo.jsonl",
    ]
)
@click.argument("agent", type=AGENT)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
)
@click.option("-o", "--output", metavar="FILE", help="A file, instead of stdout.")
@click.option("--everything", is_flag=True, help="All turns of the log, not only those in view.")
@click.pass_obj
def command(
    invocation: Invocation, agent: str, form: str, output: str | None, everything: bool
) -> None:
    """Write a conversation as Markdown or JSON.

    Markdown holds the turns in view, or with --everything all that this agent's own log holds. JSON
    is always the whole log, one event a line.
    """
    text = invocation.run(lambda: _export(invocation, agent, form, everything))
    if output is None:
        click.echo(text, nl=False)
    else:
        Path(output).expanduser().write_text(text, encoding="utf-8")
        click.echo(f"Wrote {output}.", err=True)


async def _export(invocation: Invocation, typed: str, form: str, everything: bool) -> str:
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as held:
        agent = await find(held, typed)
        return await (_json(held, agent) if form == "json" else _markdown(held, agent, everything))


async def _json(held: "Connection", agent: "AgentId") -> str:
    from sapwood.cli.display.jsons import event_value, json_line

    events = await held.log.read(held.space, agent)
    return "".join(f"{json_line(event_value(recorded))}\n" for recorded in events)


async def _markdown(held: "Connection", agent: "AgentId", everything: bool) -> str:
    from sapwood.app.reading import turns_of
    from sapwood.cli.display.markdown import markdown
    from sapwood.core.view.build import front_texts

    opened = await held.dispatcher.open(agent)
    if everything:
        return markdown(opened.state, turns_of(await held.log.read(held.space, agent)))
    return markdown(opened.state, opened.live.all_turns, front_texts(opened.live))
