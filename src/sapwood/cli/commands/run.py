"""`sapwood run`: a model is asked, and a script is played."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.numbers import Number, Whole

if TYPE_CHECKING:
    from sapwood.cli.talking.starting import Wanted
    from sapwood.core.slash import Script

__all__ = ["command"]


@subcommand(
    examples=[
        'sapwood run -p "What is 6 x 7?"',
        'sapwood run -p "And by 8?" --continue',
        'sapwood run --agent demo --new -p "Hello!" --model claude-sonnet-5-5',
        'git diff | sapwood run -p "Review this." -i -',
        "sapwood run --agent demo < script.txt",
        'sapwood run -p "Run the tests." --allow "shell(just test *)"',
    ],
    hint='The prompt comes after -p, in quotes: sapwood run -p "What is 6 x 7?"',
)
@click.option("-p", "--prompt", metavar="TEXT", help="What to say; without it, stdin is a script.")
@click.option("-i", "--input", "source", metavar="FILE", help="Text after the prompt; - is stdin.")
@click.option("-a", "--agent", type=AGENT, metavar="AGENT", help="Whom to go on with.")
@click.option("--new", is_flag=True, help="Start a new agent, called as --agent says.")
@click.option("-c", "--continue", "goes_on", is_flag=True, help="Go on with the newest agent.")
@click.option("-m", "--model", metavar="NAME", help="The model from here on.")
@click.option("--system", metavar="TEXT", help="The system prompt from here on.")
@click.option("--cap", type=Whole(0), metavar="TOKENS", help="Most history in view.")
@click.option("--allow", multiple=True, metavar="RULE", help="What tools may do; repeatable.")
@click.option("--timeout", type=Number(0.1), metavar="SECONDS", help="Stop after that.")
@json_option("Print events and pieces of the answer as JSON lines.")
@click.pass_obj
def command(
    invocation: Invocation,
    prompt: str | None,
    source: str | None,
    agent: str | None,
    new: bool,
    goes_on: bool,
    model: str | None,
    system: str | None,
    cap: int | None,
    allow: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Ask a model, or play a script of commands and text.

    A new agent is started, unless --agent or --continue names one. The answer goes to stdout as it
    comes. Without -p, stdin is played as a script: lines such as /mark X are commands, everything
    else is text, and each text waits for its answer. An agent whose turn was left open, by a crash
    say, goes on with it when neither is given.

    Tools can read files in this folder. What they may change or run has to be allowed: by rules
    such as "shell(git *)" or "write_file(docs/**)", here or in the configuration.

    The first Ctrl-C interrupts the turn and keeps what is there, the second leaves at once.
    """
    if goes_on and (agent or new):
        raise click.UsageError("--continue goes with neither --agent nor --new.")
    from sapwood.cli.talking.starting import Wanted

    wanted = Wanted(agent, new, goes_on, model, system, cap, allow, timeout)
    script = _script(prompt, source)
    if script is None and (new or not (agent or goes_on)):
        raise click.UsageError("Give a prompt with -p, or a script on stdin.")
    return invocation.run(lambda: _run(invocation, wanted, script, as_json))


def _script(prompt: str | None, source: str | None) -> "Script | None":
    """The script to play; None when there is nothing to say."""
    from sapwood.cli.typed import piped, text_of
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal
    from sapwood.core.slash import Say, parse

    submission = prompt if prompt is not None or source is not None else piped()
    script = parse(submission or "")
    if isinstance(script, Refusal):
        raise RefusedError(script)
    if source is not None and (text := text_of(source).strip("\n")):
        # Whatever stands in a file is text: it must not be able to give commands.
        if script and isinstance(last := script[-1], Say) and not last.goal:
            return (*script[:-1], Say(f"{last.text}\n\n{text}"))
        return (*script, Say(text))
    return script or None


async def _run(
    invocation: Invocation,
    wanted: "Wanted",
    script: "Script | None",
    as_json: bool,
) -> Exit:
    import sys

    from sapwood.cli.failing import explained
    from sapwood.cli.talking.held import hold
    from sapwood.cli.talking.showing import JsonShow, Summary, TextShow
    from sapwood.cli.talking.stopping import listening
    from sapwood.core.content import Usage

    notes = sys.stderr.isatty() or invocation.verbose > 0
    show = JsonShow() if as_json else TextShow(notes=notes)
    try:
        with listening() as stop:
            async with invocation.connected(patience=IN_TURN) as connection:
                return await hold(invocation.config, connection, wanted, script, show, stop)
    except Exception as error:
        if as_json:
            sentence, code = explained(error, invocation)
            show.end(Summary(None, code, Usage(0), sentence))
        raise
