"""Writes the page that says what works with which version, from the results of the proof."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofs.agents_e2e.home import Home
from proofs.providers_e2e.act_checks import Act
from sapwood.programs.registry import PROGRAM_NAMES, program_title
from sapwood.programs.registry import program as program_named

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
    "session gets the history instead. A dash: not tried with this version.\n"
)


def version_of(home: Home, program: str) -> str:
    """The version of the program in this home."""
    found = re.search(
        r"\d+(\.\d+)+", home.run(program_named(program).executable, "--version").stdout
    )
    return found[0] if found else "unknown"


def write_acts(acts: Sequence[Act], versions: Mapping[str, str], *, some: bool) -> None:
    """Writes a row for each act, with the number of checks that passed.

    The columns of programs that did not run stay as they are, and so does the section about
    released versions. If only `some` acts ran, the others of the same version stay too.
    """
    page, heading, releases = PAGE.read_text("utf-8").partition(RELEASES)
    table = _columns(page)
    for program, version in versions.items():
        own = f"{program_title(program)} {version}"
        before = table.get(own, {}) if some else {}
        table = {title: cells for title, cells in table.items() if not _is_of(title, program)}
        whats = dict.fromkeys(act.what for act in acts if act.program == program)
        cells = {what: _cell(acts, program, what) for what in whats}
        table[own] = before | cells
    order = [program_title(program) for program in PROGRAM_NAMES]
    titles = sorted(table, key=lambda title: order.index(title.rpartition(" ")[0]))
    whats = dict.fromkeys(what for title in titles for what in table[title])
    lines = [f"| act | {' | '.join(titles)} |", f"| --- |{' --- |' * len(titles)}"]
    for what in whats:
        cells = [table[title].get(what, "–") for title in titles]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    PAGE.write_text(_HEAD + "\n" + "\n".join(lines) + "\n" + heading + releases, "utf-8")


def _columns(page: str) -> dict[str, dict[str, str]]:
    """The columns of the table: the cells of each act, without those of acts that did not run."""
    rows = [_split(line) for line in page.splitlines() if line.startswith("| ")]
    if not rows:
        return {}
    (_, *titles), _, *rest = rows
    return {
        title: {row[0]: row[place] for row in rest if row[place] != "–"}
        for place, title in enumerate(titles, 1)
    }


def _is_of(title: str, program: str) -> bool:
    return title.rpartition(" ")[0] == program_title(program)


def write_releases(head: str, rows: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Writes the section about released versions: its head, and the cells of these versions.

    They are found by program and version. The rows of other versions and the rest of the page stay
    as they are.
    """
    acts, _, releases = PAGE.read_text("utf-8").partition(RELEASES)
    lines: list[str] = []
    for program in PROGRAM_NAMES:
        title = program_title(program)
        kept = [_split(line) for line in releases.splitlines() if line.startswith(f"| {title} | ")]
        found = {version: cells for _, version, *cells in kept}
        found |= {version: [*cells] for (name, version), cells in rows.items() if name == program}
        versions = sorted(found, key=lambda each: [int(part) for part in each.split(".")])
        lines += [f"| {' | '.join((title, each, *found[each]))} |" for each in versions]
    PAGE.write_text(f"{acts}{RELEASES}\n{head}" + "\n".join(lines) + "\n", "utf-8")


def _split(line: str) -> list[str]:
    return line.strip("| ").split(" | ")


def _cell(acts: Sequence[Act], program: str, what: str) -> str:
    found = [act for act in acts if (act.program, act.what) == (program, what)]
    passed, failed = sum(act.passed for act in found), sum(act.failed for act in found)
    if not passed + failed:
        return "does not apply"
    return f"{passed} of {passed + failed} checks"
