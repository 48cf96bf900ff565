"""The page of costs as HTML: what each conversation used, by project, the dearest first."""

from collections.abc import Mapping, Sequence

from sapwood.conversation.conversation_states import ConversationState
from sapwood.core.content import Usage
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.token_count import Count
from sapwood.display.quantities import cache_share, money
from sapwood_server.page.html_text import attribute, line, size, time_ago
from sapwood_server.page.list_html import program_of


def costs_html(
    agents: Sequence[AgentSummary], states: Mapping[AgentId, ConversationState], now: int
) -> str:
    """Totals, then a table for each project."""
    spent = {each.agent: _spent(states, each) for each in agents}
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
        _project(folder, projects[folder], sums[folder], spent, total, now)
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


def _spent(states: Mapping[AgentId, ConversationState], facts: AgentSummary) -> Usage:
    return states.get(facts.agent, ConversationState()).spent


def _project(
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


def _row(facts: AgentSummary, used: Usage, total: Usage, now: int) -> str:
    name = line(facts.name) or f"<i>{line(facts.agent)}</i>"
    share = min(100, round(100 * used.cost / total.cost)) if total.cost else 0
    return (
        f'<tr><td class="ell"><a href="/c/{attribute(facts.agent)}"><b>{name}</b></a> '
        f'<span class="faint">{time_ago(facts.updated, now)}</span></td>'
        f'<td class="faint">{line(program_of(facts))}</td>'
        f'<td class="num">{_tokens(used.input)}</td><td class="num">{_cached(used)}</td>'
        f'<td class="num">{_tokens(used.output)}</td><td class="num"><b>{money(used.cost)}</b></td>'
        f'<td><span class="meter" aria-hidden="true"><i class="w{share}"></i></span></td></tr>'
    )


def _tokens(number: int) -> str:
    return size(Count(number, exact=True))


def _cached(used: Usage) -> str:
    share = cache_share(used)
    return "–" if share is None else f"{share:.0%}".replace("%", " %")
