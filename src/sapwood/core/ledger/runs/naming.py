"""What a command is about, whatever its arguments: `npm run build`, `cargo test`, `git push`.

Two runs of the same name are attempts at the same thing, so the later one tells how it stands.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.ledger.acts.shell import Simple
from sapwood.core.ledger.acts.wrappers import unwrapped

__all__ = ["Named", "named"]

_FAMILIES = (
    "git npm yarn pnpm bun cargo go docker podman kubectl helm terraform tofu make just task "
    "gradle mvn dotnet aws gcloud az brew apt apt-get dnf apk pip poetry uv pdm hatch conda "
    "systemctl service rails rake bundle gem composer artisan flutter dart swift mix sbt nx turbo "
    "deno supabase fly heroku gh glab ansible alembic dbt pulumi vercel netlify wrangler prisma "
    "ruff rustup cmake bazel lerna expo gradlew mvnw nox"
)
_MANY_VERBS = frozenset(_FAMILIES.split())
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
_PLAIN_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx"})
_LOOKS = frozenset(
    "grep egrep fgrep rg ag ack diff cmp ls cat head tail less more find fd tree stat file wc "
    "which type whereis whoami pwd test [ printenv pgrep lsof ps df du jq uname date id nproc xxd "
    "od hexdump readlink realpath basename dirname sort uniq cut awk column nl bat sed tr".split()
)
_TRIVIAL = frozenset(
    "cd echo printf export source . set unset true false : sleep pushd popd mkdir wait exit kill "
    "pkill killall rm touch chmod".split()
)
_GIT_LOOKS = frozenset("diff show log status grep rev-parse ls-files branch blame remote".split())
_VERSIONED = re.compile(r"^(python|pip|node|ruby|php)[\d.]*$")


class Named(Struct, frozen=True):
    """A simple command by its name and its other arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    looks: bool = False
    trivial: bool = False


def named(command: Simple) -> Named:
    """The command's name.

    >>> from sapwood.core.ledger.acts.shell import simple_commands
    >>> [named(c).name for c in simple_commands("npm run build && uv run python -m pytest -q x.py")]
    ['npm run build', 'pytest']
    """
    texts = _at_work([word.text for word in unwrapped(command.words)])
    if not texts:
        return Named("", trivial=True)
    program = _program(texts[0])
    rest = texts[1:]
    if program == "python" and "-m" in rest[:2]:
        place = rest.index("-m")
        return Named(" ".join(rest[place + 1 : place + 2]), tuple(rest[place + 2 :]))
    plain = [text for text in rest if not text.startswith("-")]
    words = 0
    if program in _MANY_VERBS:
        words = 2 if plain[:1] in (["run"], ["compose"], ["run-script"]) else 1
    elif program in _INTERPRETERS:
        words = 1
    name = " ".join([program, *plain[:words]])
    looks = program in _LOOKS or (program == "git" and plain[:1] != [] and plain[0] in _GIT_LOOKS)
    return Named(name, _without(rest, plain[:words]), looks, program in _TRIVIAL)


def _program(text: str) -> str:
    name = text.rsplit("/", 1)[-1]
    found = _VERSIONED.match(name)
    return found[1] if found else name


def _at_work(texts: Sequence[str]) -> list[str]:
    """The words from the program on that a runner like `uv run` or `npx` starts."""
    texts = list(texts)
    while len(texts) > 1:
        program = _program(texts[0])
        if program in _PLAIN_RUNNERS or texts[1] in _RUNNERS.get(program, ()):
            skipped = 1 if program in _PLAIN_RUNNERS else 2
            texts = texts[skipped:]
            while texts and texts[0].startswith("-"):
                texts = texts[1:]
        else:
            break
    return texts


def _without(texts: Sequence[str], gone: Sequence[str]) -> tuple[str, ...]:
    left = list(texts)
    for text in gone:
        left.remove(text)
    return tuple(left)
