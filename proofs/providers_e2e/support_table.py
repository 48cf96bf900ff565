"""Writes the page that says what works with which version, from the results of the proof."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofs.agents_e2e.home import Home
from proofs.providers_e2e.act_checks import Act
from sapwood.programs.registry import program as program_named
from sapwood.programs.registry import program_title

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "provider-versions.md"
RELEASES = "\n## Released versions\n"
"""The heading of the section that `just versions --write` writes."""
_HEAD = (
    "# What works with which version of which program\n\n"
    "Written by `just providers-e2e --write`, and the released versions by `just versions --write`,"
    "\nfrom their results. Run them, do not change this page.\n\n"
    "The proof runs the real programs against a scripted model. An act works if the next request\n"
    "had exactly the turns in view, our own view was the same, and the program's files were only\n"
    "appended to. These are the versions that the proof runs. On your machine Sapwood tests the\n"
    "installed version itself; `sapwood programs` shows the result. Where the test fails, a new\n"
    "session gets the history instead.\n"
)


def version_of(home: Home, program: str) -> str:
    """The version of the program in this home."""
    found = re.search(
        r"\d+(\.\d+)+", home.run(program_named(program).executable, "--version").stdout
    )
    return found[0] if found else "unknown"


def page_of(acts: Sequence[Act], versions: Mapping[str, str]) -> str:
    """The page: a table for each act, with the number of checks that passed.

    The section about released versions stays as it is.
    """
    whats = list(dict.fromkeys(act.what for act in acts))
    programs = list(versions)
    titles = [f"{program_title(program)} {versions[program]}" for program in programs]
    lines = [f"| act | {' | '.join(titles)} |", f"| --- |{' --- |' * len(programs)}"]
    for what in whats:
        cells = [_cell(acts, program, what) for program in programs]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    _, heading, releases = PAGE.read_text("utf-8").partition(RELEASES)
    return _HEAD + "\n" + "\n".join(lines) + "\n" + heading + releases


def write_releases(text: str) -> None:
    """Replaces the section about released versions; the rest of the page stays as it is."""
    acts, _, _ = PAGE.read_text("utf-8").partition(RELEASES)
    PAGE.write_text(f"{acts}{RELEASES}\n{text}", "utf-8")


def _cell(acts: Sequence[Act], program: str, what: str) -> str:
    found = [act for act in acts if (act.program, act.what) == (program, what)]
    if not found:
        return "–"
    passed, failed = sum(act.passed for act in found), sum(act.failed for act in found)
    if not passed + failed:
        return "does not apply"
    return f"{passed} of {passed + failed} checks"
