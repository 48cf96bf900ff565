"""The files that a package manager changes when it adds or removes a dependency."""

from collections.abc import Iterator, Sequence

from sapwood.analysis.ledger.operations.operation import FileEdited, Operation
from sapwood.analysis.ledger.operations.simple_commands import ShellWord
from sapwood.analysis.ledger.operations.working_folder import join_path

_NPM = ("package.json", "package-lock.json")
# The program and its first argument; without a package after them nothing is changed.
_FILES: dict[tuple[str, str], tuple[str, ...]] = {
    **dict.fromkeys([("npm", verb) for verb in ("install", "i", "add", "uninstall")], _NPM),
    **dict.fromkeys([("yarn", verb) for verb in ("add", "remove")], ("package.json", "yarn.lock")),
    **dict.fromkeys(
        [("pnpm", verb) for verb in ("add", "remove")], ("package.json", "pnpm-lock.yaml")
    ),
    **dict.fromkeys([("cargo", verb) for verb in ("add", "remove")], ("Cargo.toml", "Cargo.lock")),
    **dict.fromkeys(
        [("poetry", verb) for verb in ("add", "remove")], ("pyproject.toml", "poetry.lock")
    ),
    **dict.fromkeys([("uv", verb) for verb in ("add", "remove")], ("pyproject.toml", "uv.lock")),
    ("go", "get"): ("go.mod", "go.sum"),
    ("bundle", "add"): ("Gemfile", "Gemfile.lock"),
    ("composer", "require"): ("composer.json", "composer.lock"),
}
_ELSEWHERE = frozenset({"-g", "--global", "--prefix", "--no-save", "--dry-run", "-C", "--dir"})


def package_changes(words: Sequence[ShellWord], folder: str) -> Iterator[Operation]:
    """Yields the changes of the manifest and the lock file.

    >>> [each.path for each in package_changes([ShellWord(t) for t in "uv add rich".split()], "")]
    ['pyproject.toml', 'uv.lock']
    """
    texts = [word.text for word in words]
    if _ELSEWHERE & set(texts):
        return
    plain = [text for text in texts if not text.startswith("-")]
    if len(plain) > 2 and (files := _FILES.get((plain[0].rsplit("/", 1)[-1], plain[1]))):
        yield from (FileEdited(join_path(folder, name)) for name in files)
