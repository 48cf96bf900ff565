"""Patterns with many stars: they come from models and from repositories, and must not take long."""

import re
import time

import pytest

from sapwood.workspace.globs import glob_regex

LONG = "a" * 50 + "/aab" * 60 + "/c"
LIMIT = 5.0
"""Seconds of CPU. Trying all combinations would take years."""


@pytest.mark.parametrize(
    "pattern",
    [
        "**/" * 30 + " " + "**/" * 30 + "x",
        "*a" * 40 + "b",
        r"**\/" * 30 + "q",
        "/" + "**/a*/" * 20 + "z",
        "/**/*a*b*a" * 10,
        "a" + "?*" * 40 + "/d",
    ],
)
def test_many_stars_take_little_time(pattern: str) -> None:
    started = time.process_time()
    assert re.fullmatch(glob_regex(pattern), LONG, re.DOTALL) is None
    assert time.process_time() - started < LIMIT


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/**/a/**/b", "a/b", True),
        ("/**/a/**/b", "x/a/y/z/b", True),
        ("/**/a/**/b", "b/a", False),
        ("/**/a*b/**/c", "ab/aab/x/c", True),
        ("*a*b*", "x/banabon", True),
        ("*a*b*", "x/bna", False),
        ("/x*a/*b", "xaa/ab", True),
        ("**/**/**/c", "a/b/c", True),
    ],
)
def test_the_first_match_of_a_star_is_enough(pattern: str, path: str, matches: bool) -> None:
    assert bool(re.fullmatch(glob_regex(pattern), path, re.DOTALL)) is matches
