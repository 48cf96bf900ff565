"""`sapwood answer`: lists the questions that wait for a person, and answers them."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sapwood.app.permission_questions import PostedQuestion


@subcommand(
    examples=[
        "sapwood answer",
        "sapwood answer 5f1c yes",
        "sapwood answer 5f1c always",
        'sapwood answer 5f1c no "use the test database"',
        "sapwood answer 5f1c 2",
    ]
)
@click.argument("question", required=False)
@click.argument("answer", nargs=-1)
@in_event_loop
async def command(invocation: Invocation, question: str | None, answer: tuple[str, ...]) -> Exit:
    """List questions waiting for a person, or answer one.

    QUESTION is an id from the list, or the start of one. Answer yes to allow a tool call, always to
    allow it and later calls like it, or no with a reason for the model. Answer a question that the
    model asks with the number of a choice, or in your own words. A question waits until
    someone answers it here, in the terminal UI or in the browser, unless ask_seconds is set. Then a
    worker, a server, or the next terminal UI that opens the conversation continues the turn.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.app.permission_questions import all_waiting_questions
    from sapwood.cli.run.run_output import TextOutput
    from sapwood.cli.run.script_player import ScriptPlayer
    from sapwood.cli.tool_call_origin import is_in_tool_call
    from sapwood.conversation.script import CommandStep
    from sapwood.core.command_table import TABLE

    async with invocation.connected_for_commands() as connection:
        waiting = await all_waiting_questions(connection)
        if question is None or not answer:
            found = waiting if question is None else [_chosen(waiting, question)]
            for line in _lines(found):
                click.echo(line)
            return Exit.OK
        posted = _chosen(waiting, question)
        service = offline_service(connection, invocation.config)
        by_model = is_in_tool_call()
        output = TextOutput(notes=False)
        player = ScriptPlayer(service, posted.question.agent, output, by_model=by_model)
        step = CommandStep(TABLE["answer"], f"{posted.id} {' '.join(answer)}")
        return (await player.play((step,))).exit


def _chosen(waiting: "list[PostedQuestion]", typed: str) -> "PostedQuestion":
    """The one question whose id starts like this. Raises `SapwoodError`."""
    from sapwood.core.errors import RefusedError, SapwoodError
    from sapwood.core.refusals import NoQuestion

    found = [posted for posted in waiting if posted.id.startswith(typed)]
    if not found:
        raise RefusedError(NoQuestion())
    if len(found) > 1:
        raise SapwoodError(
            f"{len(found)} questions start with '{typed}'. Type more of the id: "
            f"{', '.join(posted.id for posted in found)}."
        )
    return found[0]


def _lines(waiting: "list[PostedQuestion]") -> "Iterator[str]":
    from sapwood.cli.console import columns
    from sapwood.cli.run.terminal_approval import question_lines
    from sapwood.display.text import visible, wrapped

    if not waiting:
        yield "No questions are waiting for an answer."
    for posted in waiting:
        yield from question_lines(posted.question)
        choices = posted.question.choices
        for number, each in enumerate(choices, 1):
            label = f"  {number}  "
            rows = "\n".join(wrapped(visible(each), columns(), " " * len(label)))
            yield label + rows[len(label) :]
        how = "1 (or another number, or your own words)" if choices else "yes (or always, or no)"
        yield from wrapped(f"To answer, type: sapwood answer {posted.id} {how}", columns())
