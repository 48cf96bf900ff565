"""`sapwood run`: asks a model, or runs a script."""

from time import monotonic
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import Number, WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from sapwood.cli.run.conversation_run import RunOptions
    from sapwood.conversation.script import Script
    from sapwood.core.settings import PermissionMode


@subcommand(
    examples=[
        'sapwood run -p "What is 6 x 7?"',
        'sapwood run -p "And by 8?" --continue',
        'sapwood run --agent demo --new -p "Hello!" --model claude-sonnet-5-5',
        'git diff | sapwood run -p "Review this."',
        'sapwood run -p "What is in this picture?" --file photo.png',
        "sapwood run --agent demo < script.txt",
        'sapwood run -p "Run the tests." --allow "shell(just test *)"',
        'sapwood run -p "Fix the failing test." --with claude-code',
    ],
    hint='Put the prompt after -p, in quotes: sapwood run -p "What is 6 x 7?"',
)
@click.option(
    "-p",
    "--prompt",
    metavar="TEXT",
    help="Prompt to send, followed by stdin; without it, stdin is a script.",
)
@click.option(
    "-i", "--input", "source", metavar="FILE", help="Append this file to the prompt; - means stdin."
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="FILE",
    help="Send an image or another file with the prompt; repeatable.",
)
@click.option("-a", "--agent", type=AGENT, metavar="AGENT", help="Continue this agent.")
@click.option("--new", is_flag=True, help="Start a new agent with the name given by --agent.")
@click.option(
    "-c",
    "--continue",
    "continue_newest",
    is_flag=True,
    help="Continue the newest agent in this folder.",
)
@click.option(
    "-m",
    "--model",
    "--with",
    "model",
    metavar="NAME",
    help="Model to use from now on, or claude-code or codex, which run the turns themselves.",
)
@click.option("--system", metavar="TEXT", help="System prompt to use from now on.")
@click.option(
    "--cap",
    type=WholeNumber(0),
    metavar="TOKENS",
    help="Maximum number of history tokens that the model sees.",
)
@click.option(
    "--allow", multiple=True, metavar="RULE", help="Permission rule to allow; repeatable."
)
@click.option(
    "--permission-mode",
    type=click.Choice(["ask", "accept-edits", "plan", "read-only", "all"]),
    metavar="MODE",
    help="Permission mode from now on: ask, accept-edits, plan, read-only or all.",
)
@click.option("--timeout", type=Number(0.1), metavar="SECONDS", help="Stop after this time.")
@json_option("Print events and pieces of the reply as JSON lines.")
@click.pass_obj
def command(
    invocation: Invocation,
    prompt: str | None,
    source: str | None,
    files: tuple[str, ...],
    agent: str | None,
    new: bool,
    continue_newest: bool,
    model: str | None,
    system: str | None,
    cap: int | None,
    allow: tuple[str, ...],
    permission_mode: "PermissionMode | None",
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Send a prompt, or run a script of prompts and commands.

    Starts a new agent unless you use --agent or --continue. Prints the reply to stdout as it
    arrives. Without -p, stdin is a script: lines such as /mark X are commands, all other lines are
    prompts, and each prompt waits for its reply. With neither a prompt nor a script, the agent
    continues its open turn, for example after a crash.

    Tools may read files in this folder and, in a git repository, run commands in the sandbox. To
    allow more, add rules such as "shell(git *)" or "write_file(docs/**)", here or in the
    configuration. In a terminal, Sapwood asks you about everything else. Otherwise it is blocked: a
    line on stderr names each blocked tool and the rule that would allow it, and the exit code is 9.

    The first Ctrl-C interrupts the turn and keeps the partial reply. The second exits immediately.
    """
    if continue_newest and (agent or new):
        raise click.UsageError("--continue cannot be combined with --agent or --new.")
    from sapwood.cli.run.conversation_run import RunOptions

    began = monotonic()
    script = _script(prompt, source, timeout)
    waited = monotonic() - began
    options = RunOptions(
        agent, new, continue_newest, model, system, cap, allow, timeout, permission_mode, waited
    )
    if files:
        script = _with_files(script, files)
    if script is None and (new or not (agent or continue_newest)):
        raise click.UsageError("Give a prompt with -p, or a script on stdin.")
    return invocation.run(lambda: _run(invocation, options, script, as_json))


def _script(prompt: str | None, source: str | None, timeout: float | None) -> "Script | None":
    """Returns the script to run; None if there is no text."""
    from sapwood.cli.console import file_text, given_text, piped_text
    from sapwood.conversation.script import TextStep, parse
    from sapwood.core.errors import accepted

    submission = prompt if prompt is not None or source is not None else piped_text(timeout)
    script = accepted(parse(submission or ""))
    if source is not None:
        text = file_text(source, timeout).strip("\n")
    else:
        text = given_text(timeout) if prompt is not None else ""
    if text:
        # The file is text only: it must not be able to run commands.
        if script and isinstance(last := script[-1], TextStep) and not last.goal:
            return (*script[:-1], TextStep(f"{last.text}\n\n{text}"))
        return (*script, TextStep(text))
    return script or None


def _with_files(script: "Script | None", names: tuple[str, ...]) -> "Script":
    """Returns the script with files in its first prompt. Raises `SapwoodError`."""
    from sapwood.conversation.prompt_files import read_file
    from sapwood.conversation.script import with_files

    found = with_files(script or (), tuple(read_file(name) for name in names))
    if found is None:
        raise click.UsageError("--file needs a prompt. Add one with -p.")
    return found


async def _run(
    invocation: Invocation,
    options: "RunOptions",
    script: "Script | None",
    as_json: bool,
) -> Exit:
    import sys

    from sapwood.cli.error_messages import error_message
    from sapwood.cli.run.conversation_run import run_conversation
    from sapwood.cli.run.run_output import JsonOutput, RunSummary, TextOutput
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.core.content import Usage

    notes = sys.stderr.isatty() or invocation.verbose > 0
    output = JsonOutput() if as_json else TextOutput(notes=notes)
    try:
        with stop_on_signals() as stop:
            async with invocation.connected(patience=IN_TURN) as connection:
                return await run_conversation(
                    invocation.config, connection, options, script, output, stop
                )
    except Exception as error:
        if as_json:
            message, code = error_message(error, invocation)
            output.end(RunSummary(None, code, Usage(0), message))
        raise
