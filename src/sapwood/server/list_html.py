"""The list of conversations as HTML: by project, with state, program, size and children."""

from collections.abc import Iterable, Sequence

from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.token_count import Count
from sapwood.display.agent_tree import state_of, tree
from sapwood.server.html_text import attribute, line, size, time_ago

__all__ = ["list_html", "program_of"]

_PROGRAMS = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini"}
_FULL = 100_000


def program_of(facts: AgentSummary) -> str:
    """The program in which the conversation lives."""
    if facts.source:
        return _PROGRAMS.get(facts.source, facts.source)
    head = facts.model.partition(":")[0]
    return {"claude-code": "Claude Code", "codex": "Codex"}.get(head, "Sapwood")


def list_html(agents: Sequence[AgentSummary], current: AgentId | None, now: int) -> str:
    """The running conversations by project, then the archived ones."""
    running = [each for each in agents if each.status == "running"]
    rest = [each for each in agents if each.status != "running"]
    projects: dict[str, list[AgentSummary]] = {}
    for facts in sorted(running, key=lambda each: -each.updated):
        projects.setdefault(facts.folder, []).append(facts)
    parts = [_project(folder, found, current, now) for folder, found in projects.items()]
    if rest:
        inside = "".join(_entry(each, 0, current, now) for each in rest)
        parts.append(
            '<details class="archived"><summary class="fold"><span aria-hidden="true">▸</span>'
            f'Archived<span class="num faint">{len(rest)}</span></summary>{inside}</details>'
        )
    if not parts:
        parts.append('<p class="empty faint">There are no conversations yet.</p>')
    return "".join(parts)


def _project(folder: str, agents: Iterable[AgentSummary], current: AgentId | None, now: int) -> str:
    found = list(agents)
    working = sum(each.working for each in found)
    state = f"{working} working" if working else "idle"
    name = line(folder.rstrip("/").rpartition("/")[2]) or "no folder"
    rows = "".join(_entry(facts, depth, current, now) for facts, depth in tree(found))
    return f'<h2 title="{attribute(folder)}"><b>{name}</b><span>{state}</span></h2>{rows}'


def _entry(facts: AgentSummary, depth: int, current: AgentId | None, now: int) -> str:
    colour, sign, words = _state(facts)
    here = ' aria-current="page"' if facts.agent == current else ""
    name = line(facts.name) or f"<i>{line(facts.agent)}</i>"
    tokens = size(Count(facts.tokens, facts.exact))
    mail = f'<span class="chip mk">✉ {facts.unread}</span>' if facts.unread else ""
    program = program_of(facts)
    data = f'data-program="{attribute(program)}" data-agent="{attribute(facts.agent)}"'
    address = f"/c/{attribute(facts.agent)}"
    head = f'<span class="st {colour}" aria-hidden="true">{sign}</span>'
    said = f'<span class="vh">{words}: </span>'
    if depth:
        return (
            f'<a class="conv kid" href="{address}" {data}{here}>'
            f'<span class="tw" aria-hidden="true">└</span>{head}'
            f'<span class="nm ell">{said}{name}</span>'
            f'<span class="num faint">{mail}{tokens}</span></a>'
        )
    asks = '<span class="chip warn">asks you</span>' if facts.asking else ""
    percent = min(100, round(100 * facts.tokens / _FULL))
    high = " hi" if percent >= 65 else ""
    return (
        f'<a class="conv" href="{address}" {data}{here}>{head}<span class="nm ell">{said}{name}'
        f'</span><span class="num faint">{time_ago(facts.updated, now)}</span>'
        f'<span class="meta">{program}{asks}{mail}<span class="num">{tokens}</span>'
        f'<span class="meter{high}" aria-hidden="true"><i class="w{percent}"></i></span></span></a>'
    )


def _state(facts: AgentSummary) -> tuple[str, str, str]:
    """The colour, the sign and the words of an agent's state."""
    words = state_of(facts)
    if facts.status != "running":
        return "faint", "▪", words
    if facts.asking:
        return "warn", "▲", words
    if facts.working:
        return "warn", "◐", words
    return "faint", "○", words
