"""Runs the program. Every error becomes a message on stderr and an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.output_gate import gated_output, styled
from sapwood.cli.root import OutputClosed, root

_STDERR = 2


def run(args: Sequence[str]) -> int:
    """Runs `sapwood` and returns the exit code. Never raises."""
    _open_missing_streams()
    _replace_unprintable()
    with gated_output():
        return _run(args)


def _run(args: Sequence[str]) -> int:
    invocation = Invocation()
    try:
        ended = root.main(list(args), "sapwood", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except (OutputClosed, BrokenPipeError):
        _discard_output()
        return Exit.OK
    except SystemExit as end:  # raised by shell completion
        return end.code if isinstance(end.code, int) else Exit.FAILED
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except Exception as error:
        return _print_error(error, invocation)
    return ended if isinstance(ended, int) else Exit.OK


def _print_error(error: Exception, invocation: Invocation) -> int:
    from sapwood.cli.error_messages import error_message

    if invocation.debug:
        import traceback

        traceback.print_exc()
    message, code = error_message(error, invocation)
    with suppress(OSError):
        mark = styled("Error:", fg="red")
        click.echo(f"{mark} {message}", err=True, color=invocation.colour())
    return code


def _open_missing_streams() -> None:
    """Sends output to nowhere where a stream was closed, as by `>&-`.

    Otherwise the next file that is opened would take the stream's number, and its output.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(handle)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _replace_unprintable() -> None:
    """Makes the streams replace characters that the terminal cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _discard_output() -> None:
    """Sends further output nowhere, so that flushing at the end does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
