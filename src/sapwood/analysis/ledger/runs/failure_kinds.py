"""Whether a failed command still matters later: a check, a deed, or neither.

A check (tests, build, linter, a script of the project) fails until it passes. A deed (push, deploy,
migration) is open until it is done. File operations, installations and probes are neither: a failed
one says something about that moment only. A program that is not known is neither.
"""

import re
from typing import Literal

from sapwood.analysis.ledger.runs.command_names import NamedCommand

FailureKind = Literal["check", "deed", ""]

_NEVER = frozenset(
    "cp mv ln tar unzip zip gzip rsync scp curl wget http ping nc dig nslookup host telnet openssl "
    "ssh psql mysql sqlite3 redis-cli mongo mongosh pip pip3 pipx gem brew apt apt-get dnf apk yum "
    "conda rustup nvm asdf chown chmod tee xargs open code vim".split()
)
_INSTALLS = frozenset(
    "install i ci add remove uninstall get sync update upgrade require download fetch clone pull "
    "login logout init create new config".split()
)
_MANAGERS = frozenset(
    "npm yarn pnpm bun cargo go pip poetry uv pdm hatch bundle composer expo git gh glab deno "
    "flutter dart dotnet".split()
)
_DEEDS = re.compile(
    r"git (?:push|merge|rebase|cherry-pick|revert|commit|am)(?= |$)"
    r"|(?:terraform|tofu|pulumi|helmfile|kubectl|ansible|oc|flux|cdk|sam|serverless)\b.*"
    r" (?:apply|up|deploy|destroy|upgrade|rollout|delete|scale|import|create|patch|sync)\b"
    r"|helm\b.* (?:upgrade|install|rollback|uninstall)\b|docker (?:push|build)\b"
    r"|ansible-playbook\b|twine\b.* upload|alembic\b.* (?:upgrade|downgrade)"
    r"|\S*\b(?:deploy|publish|migrate|release|rollback)(?![a-z])"
    r"|\S+(?: \S+)? \S*(?:deploy|publish|migrate|release|rollback)(?![a-z])"
)
_CHECKS = re.compile(
    r"(?:^|[\s/:_.-])(?:tests?|check|checks|lint|build|compile|tsc|mypy|pyright|ruff|black|eslint"
    r"|prettier|flake8|pylint|biome|validate|verify|typecheck|type-check|types|plan|smoke|bench"
    r"|clippy|fmt|vet|ci|doctor|spec|e2e|shellcheck|xmllint|yamllint|hadolint|actionlint|rubocop"
    r"|stylelint|golangci-lint|phpstan|psalm|pre-commit|cmake|ninja|gcc|clang|javac|rustc"
    r"|xcodebuild|gradle|gradlew|mvn|mvnw|make|just|task|bazel|tox|nox|vite|webpack|rollup"
    r"|esbuild|next|turbo|nx|pytest|jest|vitest|playwright|cypress)(?=$|[\s:_./-])"
)
_TASK_RUNNERS = frozenset("rake rails mix flask django-admin artisan gulp grunt invoke inv".split())
_INTERPRETERS = frozenset("python node bash sh zsh ruby perl php tsx ts-node deno Rscript".split())
_INLINE = frozenset({"-c", "-e", "-p", "-", "--eval", "-i"})
_SCRIPT = re.compile(r"\.{0,2}/?[\w./-]*\w\.(?:py|js|ts|mjs|cjs|sh|rb|pl|php|R)$")


def failure_kind(part: NamedCommand) -> FailureKind:
    """Returns whether the failure of this command is a check or a deed.

    >>> [failure_kind(NamedCommand(name)) for name in ("git push", "cargo build", "cp", "curl")]
    ['deed', 'check', '', '']
    """
    words = part.name.split(" ")
    program = words[0]
    if part.inspects or part.trivial or program in _NEVER or not program:
        return ""
    line = " ".join([part.name, *(text for text in part.arguments[:6] if text[:1] != "-")])
    if program in _MANAGERS and words[1:2] and words[1] in _INSTALLS:
        return ""
    if _DEEDS.match(line):
        return "deed"
    if program in _INTERPRETERS:
        if _INLINE & set(part.arguments) or len(words) < 2:
            return ""
        return "check"
    first = next((text for text in part.arguments if text[:1] != "-"), "")
    if _CHECKS.search(f"{part.name} {first}") or (program in _MANAGERS and words[1:2] == ["run"]):
        return "check"
    if program in _TASK_RUNNERS:
        return "check"
    return "check" if part.is_path or _SCRIPT.match(program) else ""
