"""The command lines `sapwood` and `context`.

Nothing is imported that the command at hand does not need.
"""

import os
import sys

__all__ = ["context", "main"]


def main() -> None:
    """The program. It ends with one of the codes in `exits`."""
    match sys.argv[1:]:
        case ["hook", name] if not name.startswith("-"):  # quick, and never fails
            from sapwood.app.tending.hooks import main as answer

            os._exit(answer(name))  # nothing is left to tidy up
        case args:
            from sapwood.cli.entry import run

            sys.exit(run(args))


def context() -> None:
    """`sapwood context` under a name of its own."""
    from sapwood.cli.entry import run

    sys.exit(run(sys.argv[1:], "context"))
