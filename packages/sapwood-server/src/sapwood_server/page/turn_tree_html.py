"""The tree of turns as HTML: turns in view, turns that left it, side branches, children."""

from collections.abc import Iterator, Sequence

from sapwood.conversation.cut_preview import Cut, CutPlan
from sapwood.conversation.open_timeline import LeftTurns, key_text
from sapwood.conversation.surroundings import WindowUse
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.plural import counted
from sapwood.core.token_count import Count
from sapwood.display.agent_tree import state_of
from sapwood_server.page.html_text import attribute, line, size


def tree_html(
    found: WindowUse, plan: CutPlan, left: Sequence[LeftTurns], family: Sequence[AgentSummary]
) -> str:
    """Turns before the head are hollow, those in view filled, side branches stand aside."""
    first = plan.cuts[0].turn if plan.cuts and not plan.earlier else 0
    before = [each for each in left if each.after < first or not plan.cuts]
    aside = [each for each in left if each not in before]
    rows = [row for each in before for row in _left(each, aside=False)]
    if before:
        rows.append(
            '<li role="treeitem" aria-selected="false" class="cutline"><button class="head" '
            'data-cut="0" title="Move the head by hand">head</button></li>'
        )
    if plan.earlier:
        words = f'<span class="faint">{counted(plan.earlier, "earlier turn")} in view</span>'
        rows.append(_node("", "in", words))
    for cut in plan.cuts:
        rows.append(_cut(cut))
        next_turn = _next(plan, cut)
        for each in aside:
            if cut.turn <= each.after < next_turn:
                rows += _left(each, aside=True)
    if found.open_turn:
        rows.append(
            '<li role="treeitem" aria-selected="true" aria-current="true" class="tip">'
            '<span class="node tipnode" aria-hidden="true"></span>'
            f'<span class="t">#{found.open_turn}</span>'
            '<span class="ell"><span class="chip warn">working</span></span></li>'
        )
    rows += [_child(each, found.agent) for each in family if each.agent != found.agent]
    if not rows:
        return ""
    return (
        '<section class="sec pane grow" tabindex="0" aria-label="Turn tree"><header>'
        '<h2 class="cap grow">Turn tree</h2><span class="num faint">● in ○ out ▢ agent</span>'
        f'</header><ul class="tree" role="tree" aria-label="Turns">{"".join(rows)}</ul></section>'
    )


def _next(plan: CutPlan, cut: Cut) -> int:
    later = [each.turn for each in plan.cuts if each.turn > cut.turn]
    return later[0] if later else 10**12


def _node(attributes: str, kind: str, inside: str, *, row: str = "") -> str:
    named = f' class="{row}"' if row else ""
    return (
        f'<li role="treeitem" aria-selected="false"{named}{attributes}>'
        f'<span class="node {kind}" aria-hidden="true"></span>{inside}</li>'
    )


def _cut(cut: Cut) -> str:
    return _node(
        f' data-turn-to="{cut.turn}"',
        "in",
        f'<span class="t">#{cut.turn}</span><span class="ell">{line(cut.title)}</span>'
        f'<span class="num">{size(cut.size)}</span>',
    )


def _left(each: LeftTurns, *, aside: bool) -> Iterator[str]:
    """A line for the turns that left together, and one for each of the first of them."""
    row = "o aside" if aside else "o"
    edge = each.edge
    what = "side branch: " if aside else "out of context: "
    yield _node(
        f' data-to="{key_text(edge.key)}"',
        "out",
        f'<span class="vh">{what}</span><span class="ell">{counted(edge.turns, "turn")} '
        f'<span class="faint">· {line(edge.cause)}</span></span>',
        row=row,
    )
    for version, title in each.prompts:
        yield _node(
            f' data-turn-to="{version}"',
            "out",
            f'<span class="t">#{version}</span><span class="ell faint">'
            f"{line(title) or 'an image'}</span>",
            row=f"{row} past",
        )
    if each.prompts and edge.turns > len(each.prompts):
        more = edge.turns - len(each.prompts)
        yield _node("", "none", f'<span class="faint">… {more} more</span>', row=f"{row} past")


def _child(facts: AgentSummary, agent: AgentId) -> str:
    relation = "child" if facts.parent == agent else "family"
    name = line(facts.name) or line(facts.agent)
    return _node(
        "",
        "kid",
        f'<span class="vh">{relation}: </span>'
        f'<a class="ell" href="/c/{attribute(facts.agent)}">{name} '
        f'<span class="faint">{line(state_of(facts))}</span></a>'
        f'<span class="num">{size(Count(facts.tokens, facts.exact))}</span>',
        row="l2",
    )
