"""Ignore files hide exactly what git hides, pattern by pattern.

Many folders stand beside each other in one repository, all with the same things in them and each
with ignore files of its own: so one call of git judges many patterns.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sapwood.workspace.file_walk import is_ignored, parse_ignore_file

FOLDERS = ("a", "a/b", "a/b/a", "b", "ab", "ab/b", "b a")
FILES = ("ab", "b", "a.b", "abb", "B", "é", "[a]", "*", "\\", "#a", "!a", "a ", " b", "-", "]")
CASES = 12

PIECES = st.sampled_from(
    [
        *("a", "b", "ab", "a.b", "A", "é", ".", "-", "]", "!", "#", "^", " ", "\t", "\r"),
        *("*", "**", "***", "?", "/", "//", "/**", "**/", "/**/", "a/", "/b"),
        *("[", "[a]", "[!a]", "[^ab]", "[a-b]", "[b-a]", "[a-]", "[]a]", "[!]]", "[a", "[é]"),
        *("[[:alpha:]]", "[[:upper:]]", "[[:nope:]]", "[[:a]", "[\\]]", "[\\a-b]", "[a/b]"),
        *("\\", "\\a", "\\*", "\\ ", "\\/", "\\\\", "\\#", "\\!"),
    ]
)
PATTERNS = st.lists(PIECES, min_size=1, max_size=5).map("".join)
LINES = st.lists(PATTERNS, max_size=4)
IGNORE_FILES = st.tuples(LINES, LINES)
"""That of the top, and that of the folder `a`."""


def paths() -> Iterator[tuple[str, bool]]:
    """Everything in each of the folders, and whether it is a folder."""
    yield from ((folder, True) for folder in FOLDERS)
    for folder in ("", *FOLDERS):
        for name in FILES:
            path = f"{folder}/{name}" if folder else name
            if path not in FOLDERS:
                yield path, False


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the folders to be judged."""
    top = tmp_path_factory.mktemp("ignoring")
    git(top, "init", "--quiet")
    for case in range(CASES):
        for path, is_folder in paths():
            here = top / str(case) / path
            here.mkdir(parents=True) if is_folder else here.touch()
    return top


def git(top: Path, *arguments: str, given: str = "") -> list[str]:
    """What git prints, taken apart at null characters."""
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(top), *arguments],
        env={**os.environ, **config},
        input=os.fsencode(given),
        capture_output=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return os.fsdecode(done.stdout).split("\0")


def hidden_by_git(top: Path, cases: int) -> list[set[str]]:
    """What is ignored in each of the first folders."""
    asked = "\0".join(f"{case}/{path}" for case in range(cases) for path, _ in paths())
    found = git(top, "check-ignore", "--no-index", "--stdin", "-z", given=asked)
    told = [path.partition("/") for path in found if path]
    return [{path for number, _, path in told if number == str(case)} for case in range(cases)]


def hidden_by_us(top: str, inner: str) -> set[str]:
    """The same by our own reading; what is in an ignored folder is ignored too."""
    outer, within = parse_ignore_file("", top), parse_ignore_file("a", inner)
    hidden: set[str] = set()
    for path, is_folder in paths():
        files = [outer, within] if path.startswith("a/") else [outer]
        above = path.rpartition("/")[0]
        if above in hidden or is_ignored([file for file in files if file], path, is_folder):
            hidden.add(path)
    return hidden


@example([(["ab**//", "a**/b", "**a/"], []), (["/**/", "a/**", "!a/b/"], ["b", "!/b/"])])
@given(st.lists(IGNORE_FILES, min_size=1, max_size=CASES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_hidden_is_what_git_hides(
    repository: Path, cases: list[tuple[list[str], list[str]]]
) -> None:
    texts = [("\n".join(top), "\n".join(inner)) for top, inner in cases]
    for case, (top, inner) in enumerate(texts):
        (repository / str(case) / ".gitignore").write_bytes(top.encode())
        (repository / str(case) / "a" / ".gitignore").write_bytes(inner.encode())
    expected = hidden_by_git(repository, len(cases))
    for text, hidden in zip(texts, expected, strict=True):
        assert hidden_by_us(*text) == hidden, text
