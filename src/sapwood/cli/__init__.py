"""The command line, `sapwood`. Nothing is imported that the command at hand does not need."""

import sys

__all__ = ["main"]


def main() -> None:
    """The program. It ends with one of the codes in `exits`."""
    from sapwood.cli.entry import run

    sys.exit(run(sys.argv[1:]))
