"""The command `scripted-model`, also `python -m scripted_model`.

With a command after `--`, the server runs as long as that command, which finds the address of the
server in its environment variables. Without a command, the server runs until it is interrupted.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import threading

from scripted_model.server import ScriptedModel


def main(arguments: list[str] | None = None) -> int:
    """Runs the server. Returns the exit code."""
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
        "scripted-model",
        description="A scripted model server on loopback. The prompt contains the script: "
        '[[say: text]] [[tool: NAME {"json": "args"}]] [[status: 529 x2]] and more.',
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="port to listen on; 0 takes a free port")
    add("--log", metavar="FILE", help="append every request to this file, one per line")
    add("--key", help="the only API key to accept")
    add("--model", action="append", help="a model that exists (repeatable); default: any")
    add("--context-limit", type=int, metavar="TOKENS", help="reject longer input")
    add("--piece", type=int, default=16, help="characters per piece of a stream")
    add("--delay", type=float, default=0.0, help="seconds between events of a stream")
    add("--retry-after", type=float, default=1.0, metavar="SECONDS", help="retry-after of errors")
    add("--no-validate", action="store_true", help="accept requests that break a rule")
    add("command", nargs="*", help="run this command, pointed at the server, and stop after it")
    return parser


def _wait(server: ScriptedModel) -> int:
    print(f"Scripted model on {server.url}", file=sys.stderr, flush=True)
    for name, value in server.env().items():
        print(f"export {name}={value}", flush=True)
    print("# Codex needs this in its config.toml: it does not read OPENAI_BASE_URL.")
    for line in server.codex_config().splitlines():
        print(f"# {line}".rstrip(), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


def _run(server: ScriptedModel, command: list[str]) -> int:
    """Returns the exit code of the command, or 1 if it is 0 and the server rejected a request."""
    code = subprocess.run(command, env={**os.environ, **server.env()}, check=False).returncode
    for rejection in server.rejections:
        print(f"rejected ({rejection.wire}): {rejection.message}", file=sys.stderr)
    return code or bool(server.rejections)


if __name__ == "__main__":
    sys.exit(main())
