"""`sapwood clear`, `drop`, `rewind`, `edit`, `undo`, `redo`, `bring`, `mark`: context commands on a
session of another program, or on a conversation of Sapwood's own.

The same commands stand below `sapwood context`. `compact` and `fork` have options of their own.
"""

import gc
import os
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from sapwood.cli.command import Command
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from pathlib import Path

    from sapwood.app.connection import Connection
    from sapwood.context_actions.sessions_at_rest import SessionResult


class _Session(Struct, frozen=True):
    """A command on a session: its help, and its argument, which `repeats` or must be given.

    `keeps` and `results` are options that it takes. `while_closed`: the session must not be open.
    `at_top`: it stands at the top too. The others have more options there.
    """

    name: str
    help: str
    more: str
    examples: tuple[str, ...]
    argument: str = ""
    required: bool = False
    repeats: bool = False
    keeps: bool = False
    results: bool = False
    while_closed: bool = True
    at_top: bool = True


_COMMANDS = (
    _Session(
        "clear",
        "Clear a session, keep its last N turns, or go back to a mark.",
        "Without an argument, clears everything from the model's view. With N, keeps the "
        "last N turns. With a MARK, goes back to that mark.",
        (
            "clear 2",
            "clear --session 4cfa19",
            "clear START",
        ),
        argument="N | MARK",
    ),
    _Session(
        "drop",
        "Drop turns or tool results from the middle of a session.",
        "4 is a turn, 4-9 are several, 4.2 is the second tool result of turn 4. What "
        "follows stays in view. To bring turns back to their place, type: sapwood bring 4-9",
        ("drop 4-9", "drop 4.2 --session 4cfa19", "drop --results 4-9"),
        argument="TURN…",
        required=True,
        repeats=True,
        results=True,
    ),
    _Session(
        "rewind",
        "Rewind a session to a mark or a turn.",
        "Goes back to a mark, or to just before a turn; without an argument, to the newest "
        "mark. Turns are numbered 1, 2, 3. To list them, type: sapwood show SESSION",
        ("rewind START", "rewind 12 --session 4cfa19"),
        argument="MARK | TURN",
    ),
    _Session(
        "edit",
        "Rewind to just before a turn and print its prompt for editing.",
        "Without a TURN, uses the last one. Edit the prompt and send it again in the program.",
        ("edit", "edit 12 --session 4cfa19"),
        argument="TURN",
    ),
    _Session(
        "compact",
        "Replace a session's older turns with a summary.",
        "Sapwood builds the summary from the turns by rules: requests, decisions, files, "
        "commands and open questions. No model is called. Words that you add appear in the "
        "summary.",
        (
            "compact",
            "compact --keep 2",
        ),
        argument="WHAT TO KEEP",
        repeats=True,
        at_top=False,
        keeps=True,
    ),
    _Session(
        "undo",
        "Undo the last command on a session.",
        "Everything that was removed from view comes back, along with the turns since.",
        ("undo", "undo --session 4cfa19"),
    ),
    _Session(
        "redo",
        "Redo the last undone command.",
        "Puts the session back to how it was before the undo.",
        ("redo", "redo --session 4cfa19"),
    ),
    _Session(
        "bring",
        "Bring single turns back that left the view of a session.",
        "Dropped turns and tool results return to their place. Others are quoted above the "
        "turns in view, which costs less than an undo. To see the numbers of the turns, "
        "type: sapwood show SESSION --everything",
        ("bring 12 15", "bring 12 --session 4cfa19"),
        argument="TURN…",
        required=True,
        repeats=True,
    ),
    _Session(
        "mark",
        "Bookmark the current point in a session.",
        "To return to it, type sapwood rewind NAME; to fork from it, sapwood fork --session"
        " ID NAME. The session may be open.",
        ("mark START", "mark START --session 4cfa19"),
        argument="NAME",
        required=True,
        while_closed=False,
    ),
    _Session(
        "fork",
        "Fork a session into a new session of the same program.",
        "With a MARK, the new session has only what came after it. The original does not change.",
        ("fork", "fork START"),
        argument="MARK",
        at_top=False,
    ),
)
_ABOUT = (
    "Works on a session of Claude Code, Codex, opencode or pi: the newest in this folder, unless "
    "you name one with --session. Close the session in its program first. Sapwood only appends to "
    "the transcript; the session keeps its id and stays in the program's list. A conversation in "
    "Sapwood is named the same way, by its name or id. To undo the change, type: sapwood undo"
)


class _SessionCommand(Command):
    """A command whose places may look like an option: `-1` is refused in words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments. Raises `click.UsageError` for a number below 1."""
        if args and args[0][:1] == "-" and args[0][1:].isdecimal():
            raise click.UsageError(f"{args[0]} is not a number of turns. Give 1 or more.", ctx)
        return super().parse_args(ctx, args)


def session_options() -> list[click.Parameter]:
    """Returns new options that name the session, and `--json`."""
    return [
        click.Option(
            ["--session"],
            default="",
            metavar="ID",
            help="Session id, the start of one, or the path of a transcript.",
        ),
        click.Option(
            ["--later"],
            is_flag=True,
            help="If the session is open, apply the change when it closes.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ]


def session_commands(path: str) -> dict[str, click.Command]:
    """Returns the commands that stand below the command `path`."""
    return {each.name: _command(each, path) for each in _COMMANDS}


def _command(row: _Session, path: str) -> click.Command:

    def callback(
        place: str | tuple[str, ...] | None = None,
        keep: int | None = None,
        results: bool = False,
        last_line: str = "",
        **given: Any,
    ) -> Exit:
        typed = " ".join(place) if isinstance(place, tuple) else place or ""
        typed = _from_stdin(last_line) if typed == "-" else typed
        words = f"--keep {keep} {typed}".rstrip() if keep else typed
        words = f"--results {words}" if results else words
        return run_session_command(
            row.name, words, given["session"], as_json=given["as_json"], later=given["later"]
        )

    parameters: list[click.Parameter] = []
    if row.argument:
        parameters.append(
            click.Argument(
                ["place"],
                metavar=row.argument if row.required else f"[{row.argument}]",
                required=row.required,
                nargs=-1 if row.repeats else 1,
            )
        )
        parameters.append(click.Option(["--last-line"], default="", hidden=True))
    if row.keeps:
        keep = click.Option(
            ["--keep"], type=click.IntRange(0), metavar="N", help="Keep the last N turns."
        )
        parameters.append(keep)
    if row.results:
        parameters.append(
            click.Option(["--results"], is_flag=True, help="Only the tool results of the turns.")
        )
    about = "\n\nWith - it reads its arguments from stdin." if row.argument else ""
    about += f"\n\n{_ABOUT}" if row.while_closed else ""
    return _SessionCommand(
        row.name,
        callback=callback,
        params=[*parameters, *session_options()],
        help=f"{row.help}\n\n{row.more}{about}",
        examples=[f"{path} {example}" for example in row.examples],
        for_people=True,
    )


def _from_stdin(last_line: str) -> str:
    """The arguments as a program pipes them in: a shell would read the user's words as its own.

    A program may cut what it pipes in, so `last_line` is what it put behind the words. Raises
    `click.UsageError` if it is not there.
    """
    from sapwood.cli.console import piped_text

    words, _, last = ("\n" + (piped_text() or "").strip()).rpartition("\n")
    if last_line and last != last_line:
        raise click.UsageError(
            "The program did not pass your words to their end, because they contain ```. Nothing "
            "was changed. Type them again without ```."
        )
    return words.strip() if last_line else f"{words}\n{last}".strip()


def run_session_command(
    name: str, words: str, session: str, *, as_json: bool, later: bool = False
) -> Exit:
    """Runs the command on a session and prints what changed and how to continue."""
    context = click.get_current_context()
    invocation = context.find_object(Invocation)
    assert invocation is not None
    above = context.parent.params if context.parent else {}
    session = session or above.get("session") or ""
    transcript = above.get("transcript") or ""
    as_json = as_json or bool(above.get("as_json"))
    gc.disable()  # a session has no cycles, and the process ends soon
    try:
        done = invocation.run(lambda: _run(invocation, name, words, session, transcript, later))
    finally:
        gc.freeze()  # otherwise it would look for them now
        gc.enable()
    _print(done, session or transcript, as_json)
    return Exit.OK


async def _run(
    invocation: Invocation, name: str, words: str, session: str, transcript: str, later: bool
) -> "SessionResult":
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.app.conversation_service import LazySessionChanges, offline_service
    from sapwood.app.staged_session import stage_session
    from sapwood.cli.error_messages import in_shell, shell_message
    from sapwood.context_actions.session_finder import SessionFinder, running_session
    from sapwood.context_actions.sessions_at_rest import SessionCommands
    from sapwood.core.errors import RefusedError, SapwoodError

    async with invocation.connected() as connection:
        running = running_session(os.environ)
        sessions = SessionFinder(Path.cwd(), invocation.config, connect, running)
        staged = None
        if not later:
            staged = await stage_session(connection, sessions, name, session, transcript)
        used = connection if staged is None else staged.connection
        commands = SessionCommands(
            used,
            offline_service(used, invocation.config, later=later),
            sessions,
            LazySessionChanges(used).changes,
        )
        try:
            if staged is not None:
                done = await commands.run(name, words, transcript=str(staged.path))
                await staged.keep()
                _start_import(connection, staged.path)
                return done
            done = await commands.run(name, words, session=session, transcript=transcript)
        except RefusedError as error:
            message = in_shell(shell_message(error.refusal), session or transcript)
            raise SapwoodError(message) from error
        if later and connection.server is None:
            from sapwood.hooks.session_watcher import watch_if_needed

            await watch_if_needed(connection, done.agent, os.environ)
        return done


def _start_import(connection: "Connection", transcript: "Path") -> None:
    """Starts a process that imports a session into the same database."""
    from sapwood.hooks.watched_session import start_process

    own = {"SAPWOOD_DATABASE": connection.address, "SAPWOOD_SPACE": connection.space}
    start_process([str(transcript)], {**os.environ, **own}, "sapwood.hooks.session_importer")


def _print(done: "SessionResult", session: str, as_json: bool) -> None:
    from msgspec import structs

    from sapwood.cli.error_messages import in_shell
    from sapwood.cli.output.event_text import json_line
    from sapwood.display.text import plain

    message = in_shell(done.message, session)
    if as_json:
        click.echo(json_line(structs.replace(done, message=message)))
        return
    click.echo(plain(message))
    if done.prompt:
        click.echo(f"\n{plain(done.prompt)}")


COMMANDS = {each.name: _command(each, "sapwood") for each in _COMMANDS if each.at_top}
"""The commands that stand at the top."""
