"""What stands beside a conversation, as HTML: budget, warnings, the tree of turns."""

from collections.abc import Sequence

from sapwood.conversation.cut_preview import CutPlan
from sapwood.conversation.surroundings import WindowUse
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.timeline.row_labels import counted
from sapwood.core.timeline.rows import Divider, Fold
from sapwood.core.token_count import Count, show
from sapwood.display.agent_tree import state_of
from sapwood.display.quantities import edge_text, money
from sapwood.server.html_text import attribute, line, size

__all__ = ["side_html"]

_KINDS = {
    "system": "k-system",
    "tools": "k-tools",
    "pins": "k-pins",
    "summary": "k-summary",
    "messages": "k-msg",
    "tool results": "k-result",
}


def side_html(
    found: WindowUse,
    plan: CutPlan,
    edges: Sequence[Fold | Divider],
    family: Sequence[AgentSummary],
) -> str:
    """Budget, warnings and the tree of turns."""
    return _budget(found, plan) + _warnings(found) + _tree(found, plan, edges, family)


def _budget(found: WindowUse, plan: CutPlan) -> str:
    budget = found.budget
    limit = budget.limit or max(budget.total.tokens, 1)
    share = budget.share or 0.0
    bars = "".join(
        f'<i class="{_KINDS.get(name, "k-msg")} w{_percent(count.tokens, limit)}"></i>'
        for name, count in found.categories
    )
    legend = "".join(
        f'<li><span class="sw {_KINDS.get(name, "k-msg")}" aria-hidden="true"></span>'
        f'{line(name)}<span class="num">{size(count)}</span></li>'
        for name, count in found.categories
    )
    percent = round(share * 100)
    level = f'<span class="chip {"warn" if budget.level else "ok"}">{percent} %</span>'
    of = f"of {show(Count(limit, exact=True))} {budget.edge}" if budget.limit else "in view"
    next_call = f"next call <b>{money(plan.now)}</b>" if plan.now is not None else "price unknown"
    return (
        '<section class="sec"><header><h2 class="cap grow">Budget</h2>'
        '<a class="num warn" href="?view=context" data-view="context">what fills it ▸</a></header>'
        f'<div class="row-x base"><span class="big">{size(budget.used)}</span>'
        f'<span class="faint">{of}</span><span class="grow"></span>{level}</div>'
        f'<div class="budget" role="meter" aria-label="Tokens in view" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{min(100, percent)}" '
        f'aria-valuetext="{attribute(edge_text(budget))}">{bars}</div>'
        f'<ul class="legend">{legend}</ul><div class="row-x num spent">'
        f'<b>{money(found.spent.cost)}</b> so far<span class="grow"></span>{next_call}'
        "</div></section>"
    )


def _percent(part: int, whole: int) -> int:
    return min(100, round(100 * part / whole))


def _warnings(found: WindowUse) -> str:
    rows: list[str] = []
    if found.budget.level:
        rows.append(
            '<li><span class="warn" aria-hidden="true">▲</span>'
            f"<span>{line(edge_text(found.budget))}</span>"
            '<button class="btn bare sm" data-fill="/compact">/compact</button></li>'
        )
    if found.unread:
        rows.append(
            '<li><span class="mk" aria-hidden="true">✉</span>'
            f"<span>{found.unread} unread</span>"
            '<button class="btn bare sm" data-run="/check-mail">/check-mail</button></li>'
        )
    if not rows:
        return ""
    return (
        f'<section class="sec"><header><h2 class="cap grow">Warnings</h2>'
        f'<span class="num faint">{len(rows)}</span></header><ul class="warns">{"".join(rows)}</ul>'
        "</section>"
    )


def _tree(
    found: WindowUse,
    plan: CutPlan,
    edges: Sequence[Fold | Divider],
    family: Sequence[AgentSummary],
) -> str:
    open_turn = found.open_turn
    rows = [
        f'<li role="treeitem" aria-selected="false" class="o" data-to="{_key(edge)}">'
        f'<span class="node out" aria-hidden="true"></span><span class="vh">out of context: '
        f'</span><span class="ell">{counted(edge.turns, "turn")} '
        f'<span class="faint">· {line(edge.cause)}</span></span></li>'
        for edge in edges
    ]
    if edges:
        rows.append(
            '<li role="treeitem" aria-selected="false" class="cutline"><span>head</span></li>'
        )
    if plan.earlier:
        rows.append(
            '<li role="treeitem" aria-selected="false"><span class="node in" aria-hidden="true">'
            f'</span><span class="faint">{counted(plan.earlier, "earlier turn")} in view</span>'
            "</li>"
        )
    rows += [
        f'<li role="treeitem" aria-selected="false" data-turn-to="{cut.turn}">'
        '<span class="node in" aria-hidden="true"></span>'
        f'<span class="t">#{cut.turn}</span><span class="ell">{line(cut.title)}</span>'
        f'<span class="num">{size(cut.size)}</span></li>'
        for cut in plan.cuts
    ]
    if open_turn:
        rows.append(
            '<li role="treeitem" aria-selected="true" aria-current="true" class="tip">'
            '<span class="node tipnode" aria-hidden="true"></span>'
            f'<span class="t">#{open_turn}</span>'
            '<span class="ell"><span class="chip warn">working</span></span></li>'
        )
    rows += [_child(each, found.agent) for each in family if each.agent != found.agent]
    return (
        '<section class="sec pane grow" tabindex="0" aria-label="Turn tree"><header>'
        '<h2 class="cap grow">Turn tree</h2><span class="num faint">● in ○ out ▢ agent</span>'
        f'</header><ul class="tree" role="tree" aria-label="Turns">{"".join(rows)}</ul></section>'
    )


def _child(facts: AgentSummary, agent: AgentId) -> str:
    relation = "child" if facts.parent == agent else "family"
    name = line(facts.name) or line(facts.agent)
    return (
        f'<li role="treeitem" aria-selected="false" class="l2"><span class="node kid" '
        f'aria-hidden="true"></span><span class="vh">{relation}: </span>'
        f'<a class="ell" href="/c/{attribute(facts.agent)}">{name} '
        f'<span class="faint">{line(state_of(facts))}</span></a>'
        f'<span class="num">{size(Count(facts.tokens, facts.exact))}</span></li>'
    )


def _key(edge: Fold | Divider) -> str:
    return "-".join(map(str, edge.key))
