"""The name of a command without its arguments: `npm run build`, `cargo test`, `git push`.

Two runs with the same name are attempts at the same thing; the later run shows its state.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.analysis.ledger.operations.simple_commands import SimpleCommand, without_wrappers

_SUBCOMMAND_PROGRAMS = (
    "git npm yarn pnpm bun cargo go docker podman kubectl helm terraform tofu make just task "
    "gradle mvn dotnet aws gcloud az brew apt apt-get dnf apk pip poetry uv pdm hatch conda "
    "systemctl service rails rake bundle gem composer artisan flutter dart swift mix sbt nx turbo "
    "deno supabase fly heroku gh glab ansible alembic dbt pulumi vercel netlify wrangler prisma "
    "ruff rustup cmake bazel lerna expo gradlew mvnw nox"
)
_WITH_SUBCOMMANDS = frozenset(_SUBCOMMAND_PROGRAMS.split())
_INTERPRETERS = frozenset("python node bash sh zsh ruby perl php tsx ts-node deno Rscript".split())
_RUNNERS = {
    "uv": ("run",),
    "poetry": ("run",),
    "pdm": ("run",),
    "pipenv": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "bundle": ("exec",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "npm": ("exec",),
    "bun": ("x",),
}
_BARE_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx"})
_INSPECTING = frozenset(
    "grep egrep fgrep rg ag ack diff cmp ls cat head tail less more find fd tree stat file wc "
    "which type whereis whoami pwd test [ printenv pgrep lsof ps df du jq uname date id nproc xxd "
    "od hexdump readlink realpath basename dirname sort uniq cut awk column nl bat sed tr".split()
)
_TRIVIAL = frozenset(
    "cd echo printf export source . set unset true false : sleep pushd popd mkdir wait exit kill "
    "pkill killall rm touch chmod".split()
)
_GIT_INSPECTING = frozenset(
    "diff show log status grep rev-parse ls-files branch blame remote".split()
)
_VERSIONED = re.compile(r"^(python|pip|node|ruby|php)[\d.]*$")


class NamedCommand(Struct, frozen=True):
    """A simple command: its name and its other arguments.

    `inspects` if it only looks at something; `trivial` if its failure does not matter. `is_path`
    if the program was called by its path, as in `./run.sh`.
    """

    name: str
    arguments: tuple[str, ...] = ()
    inspects: bool = False
    trivial: bool = False
    is_path: bool = False


def named_command(command: SimpleCommand) -> NamedCommand:
    """Returns the name and the arguments of a command.

    >>> from sapwood.analysis.ledger.operations.simple_commands import simple_commands
    >>> [
    ...     named_command(c).name
    ...     for c in simple_commands("npm run build && uv run python -m pytest -q x.py")
    ... ]
    ['npm run build', 'pytest']
    """
    texts = _without_runner([word.text for word in without_wrappers(command.words)])
    if not texts:
        return NamedCommand("", trivial=True)
    program = _program(texts[0])
    rest = texts[1:]
    if program == "python" and "-m" in rest[:2]:
        index = rest.index("-m")
        return NamedCommand(" ".join(rest[index + 1 : index + 2]), tuple(rest[index + 2 :]))
    plain = [text for text in rest if not text.startswith("-")]
    words = 0
    if program in _WITH_SUBCOMMANDS:
        words = 2 if plain[:1] in (["run"], ["compose"], ["run-script"]) else 1
    elif program in _INTERPRETERS:
        words = 1
    name = " ".join([program, *plain[:words]])
    inspects = program in _INSPECTING or (
        program == "git" and plain[:1] != [] and plain[0] in _GIT_INSPECTING
    )
    is_path = texts[0].startswith(("./", "../", "bin/", "scripts/", "tools/"))
    arguments = _removed(rest, plain[:words])
    return NamedCommand(name, arguments, inspects, program in _TRIVIAL, is_path)


def _program(text: str) -> str:
    name = text.rsplit("/", 1)[-1]
    found = _VERSIONED.match(name)
    return found[1] if found else name


def _without_runner(texts: Sequence[str]) -> list[str]:
    """Returns the words after a runner such as `uv run` or `npx`."""
    texts = list(texts)
    while len(texts) > 1:
        program = _program(texts[0])
        if program in _BARE_RUNNERS or texts[1] in _RUNNERS.get(program, ()):
            skipped = 1 if program in _BARE_RUNNERS else 2
            texts = texts[skipped:]
            while texts and texts[0].startswith("-"):
                texts = texts[1:]
        else:
            break
    return texts


def _removed(texts: Sequence[str], removed: Sequence[str]) -> tuple[str, ...]:
    left = list(texts)
    for text in removed:
        left.remove(text)
    return tuple(left)
