"""`sapwood do`, `answer`, `send`, `interrupt` and `kill`: commands to an agent, without a model."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sapwood.app.permission_questions import PostedQuestion
    from sapwood.conversation.script import Script


@subcommand(
    examples=[
        'sapwood do demo "/mark START"',
        'sapwood do demo "/clear 3" "/pin style Be brief."',
        'sapwood do demo "/rewind START"',
        "sapwood do demo /undo",
        "sapwood do demo /revert",
        "sapwood do demo /help",
    ]
)
@click.argument("agent", type=AGENT)
@click.argument("lines", metavar="COMMAND...", nargs=-1, required=True)
@in_event_loop
async def do_command(invocation: Invocation, agent: str, lines: tuple[str, ...]) -> Exit:
    """Run slash commands on an agent, such as /mark X.

    Each COMMAND is one argument, so quote commands that contain spaces. They run in order and stop
    at the first one that is refused. No model is called. To send text to a model, use sapwood run.
    A model that runs this through its shell tool can use only the commands open to models.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.run.run_output import TextOutput
    from sapwood.cli.run.script_player import ScriptPlayer
    from sapwood.cli.tool_call_origin import is_in_tool_call
    from sapwood.conversation.agent_lookup import find

    script = _parsed("\n".join(lines), agent)
    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        by_model = is_in_tool_call()
        player = ScriptPlayer(
            service, await find(connection, agent), TextOutput(notes=False), by_model=by_model
        )
        result = await player.play(script)
    return result.exit


def _parsed(submission: str, agent: str) -> "Script":
    from sapwood.conversation.script import has_prompt, parse
    from sapwood.core.errors import accepted

    script = accepted(parse(submission))
    if has_prompt(script) or not script:
        raise click.UsageError(
            "sapwood do runs slash commands that need no model, such as /mark X. "
            f"To send text to a model, type: sapwood run --agent {agent} -p TEXT"
        )
    return script


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
async def answer_command(
    invocation: Invocation, question: str | None, answer: tuple[str, ...]
) -> Exit:
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
            found = waiting if question is None else [_chosen_question(waiting, question)]
            for line in _question_lines(found):
                click.echo(line)
            return Exit.OK
        posted = _chosen_question(waiting, question)
        service = offline_service(connection, invocation.config)
        by_model = is_in_tool_call()
        output = TextOutput(notes=False)
        player = ScriptPlayer(service, posted.question.agent, output, by_model=by_model)
        step = CommandStep(TABLE["answer"], f"{posted.id} {' '.join(answer)}")
        return (await player.play((step,))).exit


def _chosen_question(waiting: "list[PostedQuestion]", typed: str) -> "PostedQuestion":
    """The one question whose id starts like this. Raises `SapwoodError`."""
    from sapwood.core.errors import RefusedError, SapwoodError
    from sapwood.core.refusals import NoQuestion

    found = [posted for posted in waiting if typed and posted.id.startswith(typed)]
    if not found:
        raise RefusedError(NoQuestion())
    if len(found) > 1:
        raise SapwoodError(
            f"{len(found)} questions start with '{typed}'. Type more of the id: "
            f"{', '.join(posted.id for posted in found)}."
        )
    return found[0]


def _question_lines(waiting: "list[PostedQuestion]") -> "Iterator[str]":
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


@subcommand(examples=['sapwood send demo "The build is red."', "git log -3 | sapwood send demo -"])
@click.argument("agent", type=AGENT)
@click.argument("message", nargs=-1, required=True)
@in_event_loop
async def send_command(invocation: Invocation, agent: str, message: tuple[str, ...]) -> None:
    """Send mail to an agent.

    Mail waits until the agent reads it. Agents treat it as information, not as an instruction: to
    give an agent a task, use sapwood run. With -, reads the message from stdin.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import file_text
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    text = file_text("-") if message == ("-",) else " ".join(message)
    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(
            service, None, "send", f"{await find(connection, agent)} {text}"
        )
        click.echo(answer.message)


@subcommand(examples=["sapwood interrupt demo", 'sapwood interrupt demo --reason "wrong branch"'])
@click.argument("agent", type=AGENT)
@click.option(
    "--reason", default="by the user", metavar="TEXT", help="Reason to record in the log."
)
@in_event_loop
async def interrupt_command(invocation: Invocation, agent: str, reason: str) -> None:
    """Stop an agent's open turn and keep the partial reply.

    Works no matter which process runs the turn, even if none does.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import accepted

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = accepted(await service.interrupt(await find(connection, agent), reason))
        click.echo(answer.message)


@subcommand(examples=["sapwood kill demo"])
@click.argument("agent", type=AGENT)
@in_event_loop
async def kill_command(invocation: Invocation, agent: str) -> None:
    """End an agent and all its descendants.

    Interrupts their open turns, whichever process runs them. Their logs are kept: you can read,
    search and fork them.
    """
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected_for_commands() as connection:
        service = offline_service(connection, invocation.config)
        answer = await slash_answer(service, None, "kill", await find(connection, agent))
        click.echo(answer.message)
