"""The scripted model for shells: `python -m sapwood.testing.scripted --port 8765`.

With a command after `--`, runs it with the variables that lead it to the server, then ends.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import threading

from sapwood.testing.scripted.server import ScriptedModel

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs the server until it is interrupted, or until the command ends."""
    given = _parser().parse_args(arguments)
    server = ScriptedModel(
        port=given.port,
        key=given.key,
        models=given.model,
        context_limit=given.context_limit,
        validate=not given.no_validate,
        piece=given.piece,
        delay=given.delay,
        retry_after=given.retry_after,
        log=given.log,
        keep=None if given.command else 0,
    )
    with server:
        return _run(server, given.command) if given.command else _wait(server)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m sapwood.testing.scripted",
        description="A scripted model on loopback. The script is written in the prompt: "
        '[[say: text]] [[tool: NAME {"json": "args"}]] [[status: 529 x2]] and more.',
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--log", metavar="FILE", help="append every request, one a line")
    parser.add_argument("--key", help="the only key to accept")
    parser.add_argument("--model", action="append", help="the only models that exist")
    parser.add_argument("--context-limit", type=int, metavar="TOKENS", help="refuse longer input")
    parser.add_argument("--piece", type=int, default=16, help="characters in a piece of a stream")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between events")
    parser.add_argument("--retry-after", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--no-validate", action="store_true", help="accept invalid requests")
    parser.add_argument("command", nargs="*", help="run this, led to the server, and end with it")
    return parser


def _wait(server: ScriptedModel) -> int:
    print(f"Scripted model on {server.url}", file=sys.stderr, flush=True)
    for name, value in server.env().items():
        print(f"export {name}={value}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


def _run(server: ScriptedModel, command: list[str]) -> int:
    """The command's own exit code; if it is 0, still 1 when the server refused something."""
    code = subprocess.run(command, env={**os.environ, **server.env()}, check=False).returncode
    for rejection in server.rejections:
        print(f"rejected ({rejection.wire}): {rejection.message}", file=sys.stderr)
    return code or bool(server.rejections)


if __name__ == "__main__":
    sys.exit(main())
