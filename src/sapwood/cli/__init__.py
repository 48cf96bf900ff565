"""The command lines `sapwood` and `context`.

Nothing is imported that the command at hand does not need.
"""

import sys

__all__ = ["context", "main"]


def main() -> None:
    """The program. It ends with one of the codes in `exits`."""
    from sapwood.cli.entry import run

    sys.exit(run(sys.argv[1:]))


def context() -> None:
    """`sapwood context` under a name of its own."""
    from sapwood.cli.entry import run

    sys.exit(run(sys.argv[1:], "context"))
