"""Typical permission rules: what a person who works like this would write."""

from collections.abc import Mapping

_READERS = (
    "ls cat head tail wc cut sort uniq tr nl grep egrep rg fd find tree file stat du df diff cmp "
    "jq "
    "echo printf pwd which type date basename dirname realpath readlink ps pgrep lsof id uname "
    "whoami sed awk cd column test true sleep sha256sum md5sum"
).split()
_READING = [f"allow shell({name} *) in **" for name in _READERS]
_CHECKERS = (
    "pytest ruff mypy pyright black isort flake8 eslint prettier tsc jest vitest tox".split()
)
_GIT = ["allow shell(git *)", "allow shell(git *) in **"]
_NODE = [
    *("allow shell(npm *)", "allow shell(pnpm *)", "allow shell(yarn *)", "allow shell(node *)"),
    *(f"allow shell(npx {name} *)" for name in ("tsc", "eslint", "prettier", "jest", "vitest")),
]
_PYTHON = ["allow shell(python3 *)", "allow shell(python *)", "allow shell(pytest *)"]
_BUILDING = [
    *("allow shell(cargo *)", "allow shell(go *)", "allow shell(make *)", "allow shell(just *)"),
    *("allow shell(mkdir *)", "allow shell(touch *)", "allow shell(cp *)", "allow shell(mv *)"),
    *("allow shell(docker *)", "allow shell(kubectl *)", "allow shell(gh *)", "allow shell(uv *)"),
    *("allow shell(terraform *)", "allow shell(rustup *)", "allow shell(curl *)"),
    *("allow shell(npm ci)", "allow shell(npm install)", "allow shell(pnpm install)"),
    *("allow shell(pip install -r requirements.txt)", "allow shell(pip install -e .)"),
    *("allow shell(pip list *)", "allow shell(pip show *)", "allow shell(pip freeze)"),
    *(f"allow shell(uv run {name} *)" for name in ("pytest", "ruff", "mypy", "pyright")),
    *(f"allow shell(poetry run {name} *)" for name in ("pytest", "ruff", "mypy")),
]
_DENIED = ["deny shell(git push *)", "deny shell(sudo *)", "deny shell(rm -rf *)"]
_MORE_READERS = "comm paste rev hostname uptime free zipinfo".split()
_MORE_CHECKERS = (
    *("pylint", "nox", "coverage", "ctest", "ninja", "gofmt", "golangci-lint", "rubocop", "task"),
    *("mvn", "gradle", "./gradlew", "dotnet", "mix test", "bundle exec rspec", "rake test"),
    *("vendor/bin/phpunit", "swift", "cmake --build", "alembic", "prisma", "npx playwright test"),
    *("npx storybook", "bun", "deno", "pre-commit run", "tee", "xargs wc", "unzip -l", "tar tzf"),
    *(
        "command -v",
        "poetry show",
        "bash scripts/check.sh",
        "sh tests/run.sh",
        "./scripts/build.sh",
    ),
    *("timeout 60 pytest", "git bisect start", "sed -i", "'['", "./run.sh", "./app"),
)
_MORE = [
    *(f"allow shell({name} *)" for name in (*_MORE_READERS, *_MORE_CHECKERS)),
    *("allow shell(rustc --version)", "allow shell(java -version)", "allow shell(pip check)"),
    *("allow shell(composer install)", "allow shell(rm -rf build dist)", "allow shell(uptime)"),
    *("allow shell(npm test) in web", "allow shell(pytest *) in packages/*"),
]
_DEVELOPER = [
    *_DENIED,
    *_READING,
    *_GIT,
    *_NODE,
    *_PYTHON,
    *(f"allow shell({name} *)" for name in _CHECKERS),
    *_BUILDING,
]
_HELD_OUT = (
    *("git status", "git diff", "git log", "git show", "git blame", "git branch", "git rev-parse"),
    *("git ls-files", "git shortlog", "git describe", "git grep", "python -m pytest", "npm test"),
    *("cargo test", "cargo build", "cargo check", "sed -n"),
    *"ls cat rg grep pytest make ruff mypy find head tail wc jq echo sort uniq cut tr awk".split(),
    *"diff basename dirname date pwd which test printf true sleep nl column comm tee cd".split(),
)
_BLIND = (
    *("xxd", "timeout 120 pytest", "python manage.py", "patch", "tar", "unzip", "sqlite3", "xargs"),
    *("java", "ruby", "bundle", "pip", "uniq", "tox", "npx", "sed -i", "timeout"),
)
_BLIND_FOLDERS = ("packages/*", "backend", "frontend", "docs")
HELD_OUT = "for held-out lines"
BLIND = "for blind lines"
TYPICAL = "developer"
FIRST = "developer, first draft"
RULE_SETS: Mapping[str, list[str]] = {
    "none": [],
    "reader": _READING,
    "git": _GIT,
    "node": ["allow shell(npm test)", "allow shell(npm run *)", *_NODE],
    "python": _PYTHON,
    FIRST: _DEVELOPER,
    TYPICAL: [*_DEVELOPER, *_MORE],
    HELD_OUT: [
        *(f"deny shell({name} *)" for name in ("git push", "rm", "curl", "sudo")),
        *(f"allow shell({name} *)" for name in _HELD_OUT),
    ],
    BLIND: [
        *(*_DEVELOPER, *_MORE),
        *(f"allow shell({name} *)" for name in _BLIND),
        *(
            f"allow shell({name} *) in {folder}"
            for name in ("npm", "pytest", "make")
            for folder in _BLIND_FOLDERS
        ),
    ],
}
"""Nobody said anything; a reader; git, Node or Python only; a developer with all of them.

The first draft was written before the harmless lines were read, and has no rules for the programs
of Java, Ruby, PHP, Swift and others that occur there. The developer's own rules name them.
"""
DENIALS: Mapping[str, tuple[str, str]] = {
    "touch": ("touch proof", "deny shell(touch *)"),
    "git push": ("git push origin main", "deny shell(git push *)"),
    "rm": ("rm -rf src", "deny shell(rm *)"),
    "terraform apply": ("terraform apply -auto-approve", "ask shell(terraform apply *)"),
}
"""A denied command and its rule, which is followed by `allow shell`."""
