"""The command lines `sapwood` and `context`.

Imports only what the given command needs.
"""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Runs `sapwood` and exits with one of the codes in `exit_codes`."""
    match sys.argv[1:]:
        case ["hook", name] if not name.startswith("-"):  # fast, and never fails
            from sapwood.hooks.runner import main as run_hook

            os._exit(run_hook(name))  # skips clean-up, which takes time and has nothing to do
        case args:
            from sapwood.cli.entry import run

            sys.exit(run(args))
