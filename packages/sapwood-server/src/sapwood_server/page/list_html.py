"""The list of conversations as HTML: by project, with state, program, size and children.

The page of costs as HTML: what each conversation used, by project, the dearest first.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from sapwood.conversation.conversation_list import ConversationState
from sapwood.conversation.machine_sessions import MachineSession
from sapwood.core.content import Usage
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.token_count import Count
from sapwood.display.agent_tree import state_of, tree
from sapwood.display.quantities import cache_share, money
from sapwood.programs.registry import program_executor, program_title
from sapwood_server.page.html_text import attribute, line, size, time_ago

_FULL = 100_000
_NEWEST = 4
"""How many sessions of other programs a project shows at once."""


class Listed(Struct, frozen=True):
    """What the list shows: conversations, how they were trimmed, sessions that are not imported."""

    agents: Sequence[AgentSummary]
    states: Mapping[AgentId, ConversationState] = {}
    sessions: Sequence[MachineSession] = ()
    now: int = 0
    current: AgentId | None = None


def program_of(summary: AgentSummary) -> str:
    """The program in which the conversation lives."""
    if summary.source:
        return program_title(summary.source)
    executor = program_executor(summary.model)
    return executor.title if executor else "Sapwood"


def list_html(listed: Listed) -> str:
    """Conversations with a question first, then those of each project, then archived ones.

    Sessions of other programs stand in their projects.
    """
    asking = [each for each in listed.agents if each.status == "running" and each.asking]
    running = [each for each in listed.agents if each.status == "running" and not each.asking]
    rest = [each for each in listed.agents if each.status != "running"]
    projects: dict[str, list[AgentSummary]] = {}
    sessions: dict[str, list[MachineSession]] = {}
    newest: dict[str, int] = {}
    for summary in sorted(running, key=lambda each: -each.updated):
        projects.setdefault(summary.folder, []).append(summary)
        newest[summary.folder] = max(newest.get(summary.folder, 0), summary.updated)
    for each in listed.sessions:
        folder = each.found.folder
        sessions.setdefault(folder, []).append(each)
        newest[folder] = max(newest.get(folder, 0), each.found.updated)
    folders = sorted(newest, key=lambda folder: -newest[folder])
    parts = [
        _project(folder, projects.get(folder, []), sessions.get(folder, []), listed)
        for folder in folders
    ]
    if asking:
        inside = "".join(_entry(each, 0, listed) for each in asking)
        head = f"<h2><b>Needs you</b><span>{len(asking)}</span></h2>"
        parts.insert(0, f'<div class="needs">{head}{inside}</div>')
    if rest:
        inside = "".join(_entry(each, 0, listed) for each in rest)
        parts.append(
            '<details class="archived" data-keep="archived"><summary class="fold">'
            '<span class="tri" aria-hidden="true">▸</span>'
            f'Archived<span class="num faint">{len(rest)}</span></summary>{inside}</details>'
        )
    if not parts:
        parts.append('<p class="empty faint">There are no conversations yet.</p>')
    return "".join(parts)


def _project(
    folder: str,
    agents: Iterable[AgentSummary],
    sessions: Sequence[MachineSession],
    listed: Listed,
) -> str:
    found = list(agents)
    working = sum(each.working for each in found)
    state = f"{working} working" if working else "idle"
    name = line(folder.rstrip("/").rpartition("/")[2]) or "no folder"
    rows = "".join(_entry(summary, depth, listed) for summary, depth in tree(found))
    rows += "".join(_session(each, listed.now) for each in sessions[:_NEWEST])
    if more := sessions[_NEWEST:]:
        inside = "".join(_session(each, listed.now) for each in more)
        rows += (
            f'<details class="archived" data-keep="{attribute(folder)}"><summary class="fold">'
            '<span class="tri" aria-hidden="true">▸</span>'
            f"{len(more)} more not imported</summary>{inside}</details>"
        )
    return f'<h2 title="{attribute(folder)}"><b>{name}</b><span>{state}</span></h2>{rows}'


def _session(each: MachineSession, now: int) -> str:
    """A session that can be imported by a click."""
    found = each.found
    program = program_title(found.source)
    name = line(each.title) or f"<i>{line(found.id[:8])}</i>"
    return (
        f'<button class="conv apart" data-import="{attribute(each.key)}" '
        f'data-key="{attribute(each.key)}" '
        f'data-program="{attribute(program)}"><span class="st faint" aria-hidden="true">◇</span>'
        f'<span class="nm ell">{name}</span>'
        f'<span class="num faint">{time_ago(found.updated, now)}</span>'
        f'<span class="meta">{line(program)}<span class="chip">import</span>'
        f'<span class="num">{_bytes(found.size)}</span></span></button>'
    )


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{max(1, size // 1000)} kB"


def _entry(summary: AgentSummary, depth: int, listed: Listed) -> str:
    colour, sign, words = _state(summary)
    here = ' aria-current="page"' if summary.agent == listed.current else ""
    name = line(summary.name) or f"<i>{line(summary.agent)}</i>"
    tokens = size(Count(summary.tokens, summary.exact))
    mail = f'<span class="chip mk">✉ {summary.unread}</span>' if summary.unread else ""
    program = program_of(summary)
    data = f'data-program="{attribute(program)}" data-key="{attribute(summary.agent)}"'
    address = f"/c/{attribute(summary.agent)}"
    head = f'<span class="st {colour}" aria-hidden="true">{sign}</span>'
    said = f'<span class="vh">{words}: </span>'
    if depth:
        return (
            f'<a class="conv kid" href="{address}" {data}{here}>'
            f'<span class="tw" aria-hidden="true">└</span>{head}'
            f'<span class="nm ell">{said}{name}</span>'
            f'<span class="num faint">{mail}{tokens}</span></a>'
        )
    trimmed = listed.states.get(summary.agent, ConversationState()).trim
    trim = f'<span class="chip cutchip">{trimmed}</span>' if trimmed else ""
    asks = '<span class="chip warn">needs you</span>' if summary.asking else ""
    percent = min(100, round(100 * summary.tokens / _FULL))
    high = " hi" if percent >= 65 else ""
    return (
        f'<a class="conv" href="{address}" {data}{here}>{head}<span class="nm ell">{said}{name}'
        f'</span><span class="num faint">{time_ago(summary.updated, listed.now)}</span>'
        f'<span class="meta">{program}{asks}{mail}{trim}<span class="num">{tokens}</span>'
        f'<span class="meter{high}" aria-hidden="true"><i class="w{percent}"></i></span></span></a>'
    )


def _state(summary: AgentSummary) -> tuple[str, str, str]:
    """The colour, the sign and the words of an agent's state."""
    words = state_of(summary)
    if summary.status != "running":
        return "faint", "▪", words
    if summary.asking:
        return "warn", "▲", words
    if summary.working:
        return "warn", "◐", words
    return "faint", "○", words


def costs_html(
    agents: Sequence[AgentSummary], states: Mapping[AgentId, ConversationState], now: int
) -> str:
    """Totals, then a table for each project."""
    spent = {each.agent: states.get(each.agent, ConversationState()).spent for each in agents}
    used = [each for each in agents if spent[each.agent].input]
    total = sum((spent[each.agent] for each in used), Usage(0))
    projects: dict[str, list[AgentSummary]] = {}
    for each in used:
        projects.setdefault(each.folder, []).append(each)
    sums = {
        folder: sum((spent[each.agent] for each in found), Usage(0))
        for folder, found in projects.items()
    }
    tables = "".join(
        _cost_project(folder, projects[folder], sums[folder], spent, total, now)
        for folder in sorted(sums, key=lambda folder: -sums[folder].cost)
    )
    none = '<section class="card"><p class="pad faint">No model has been called yet.</p></section>'
    return (
        '<div class="page"><header class="row-x"><div class="grow"><h1 class="h1">What it cost</h1>'
        '<p class="faint">As the providers reported it, with the prices that are known. Calls of '
        "children and summaries are counted.</p></div></header>"
        f'<ul class="totals"><li><b>{money(total.cost)}</b>total</li>'
        f"<li><b>{_tokens(total.input)}</b>tokens sent</li><li><b>{_cached(total)}</b>of them from "
        f"the cache</li><li><b>{_tokens(total.output)}</b>tokens written</li></ul>"
        f"{tables or none}</div>"
    )


def _cost_project(
    folder: str,
    agents: Sequence[AgentSummary],
    whole: Usage,
    spent: Mapping[AgentId, Usage],
    total: Usage,
    now: int,
) -> str:
    rows = "".join(
        _row(each, spent[each.agent], total, now)
        for each in sorted(agents, key=lambda each: -spent[each.agent].cost)
    )
    name = line(folder.rstrip("/").rpartition("/")[2]) or "no folder"
    return (
        f'<section class="card costs"><header><h2 class="grow" title="{attribute(folder)}">{name}'
        f'</h2><span class="num">{money(whole.cost)}</span></header><table class="tbl"><thead><tr>'
        '<th>Conversation</th><th>Program</th><th class="num">sent</th><th class="num">cached</th>'
        '<th class="num">written</th><th class="num">cost</th><th><span class="vh">Share</span>'
        f"</th></tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _row(summary: AgentSummary, used: Usage, total: Usage, now: int) -> str:
    name = line(summary.name) or f"<i>{line(summary.agent)}</i>"
    share = min(100, round(100 * used.cost / total.cost)) if total.cost else 0
    return (
        f'<tr><td class="ell"><a href="/c/{attribute(summary.agent)}"><b>{name}</b></a> '
        f'<span class="faint">{time_ago(summary.updated, now)}</span></td>'
        f'<td class="faint">{line(program_of(summary))}</td>'
        f'<td class="num">{_tokens(used.input)}</td><td class="num">{_cached(used)}</td>'
        f'<td class="num">{_tokens(used.output)}</td><td class="num"><b>{money(used.cost)}</b></td>'
        f'<td><span class="meter" aria-hidden="true"><i class="w{share}"></i></span></td></tr>'
    )


def _tokens(number: int) -> str:
    return size(Count(number, exact=True))


def _cached(used: Usage) -> str:
    share = cache_share(used)
    return "–" if share is None else f"{share:.0%}".replace("%", " %")
