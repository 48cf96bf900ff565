"""Runs the program and turns whatever happens into a sentence on stderr and an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.root import Unread, root

__all__ = ["run"]


def run(args: Sequence[str], name: str = "sapwood") -> int:
    """Runs the program, or the sub-command that is installed under this name. Never raises.

    Returns the exit code.
    """
    _never_choke()
    invocation = Invocation()
    try:
        program = root if name == "sapwood" else _installed(name)
        ended = program.main(list(args), name, standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except (Unread, BrokenPipeError):
        _leave_the_pipe()
        return Exit.OK
    except SystemExit as end:  # of shell completion
        return end.code if isinstance(end.code, int) else Exit.FAILED
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except Exception as error:
        return _told(error, invocation)
    return ended if isinstance(ended, int) else Exit.OK


def _installed(name: str) -> click.Command:
    found = root.get_command(click.Context(root), name)
    assert found is not None
    return found


def _told(error: Exception, invocation: Invocation) -> int:
    from sapwood.cli.failing import explained

    if invocation.debug:
        import traceback

        traceback.print_exc()
    sentence, code = explained(error, invocation)
    with suppress(OSError):
        mark = click.style("Error:", fg="red")
        click.echo(f"{mark} {sentence}", err=True, color=invocation.colour())
    return code


def _never_choke() -> None:
    """A character that the terminal cannot show is replaced, and stops nothing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _leave_the_pipe() -> None:
    """Nothing more can be printed, and that is no reason to complain at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
