"""The sidebar: agents, marks, focus, and warnings with the command to type."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from sapwood.core.budget import Budget
from sapwood.core.counting import Count, show
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.core.state import State
from sapwood.display.text import cut, one_line
from sapwood.display.tree import branches, tree
from sapwood.garden.drift import Drift

__all__ = ["Beside", "Sidebar", "agent_lines", "drift_bars", "warnings"]

WIDTH = 34
_WORTH = 1_000
"""Tokens from which on a tangent is worth a warning."""

_ROOM = WIDTH - 5


_DRIFTING = {"on-track": "$success", "tangent": "$warning", "noise": "$error"}


class Beside(Struct, frozen=True):
    """What the sidebar shows."""

    agents: tuple[Facts, ...] = ()
    here: AgentId | None = None
    state: State | None = None
    budget: Budget | None = None
    drift: Drift | None = None


class Sidebar(VerticalScroll, can_focus=False):
    """Follows the conversation; a click or enter on an agent switches to it."""

    DEFAULT_CSS = """
    Sidebar {
        width: 34; padding: 0 1; border-left: vkey $panel; scrollbar-size-vertical: 1;
        scrollbar-background: $background; scrollbar-color: $panel-lighten-2;
        .title { color: $accent; text-style: bold; margin-top: 1; }
        .part { color: $faint; }
        OptionList { height: auto; max-height: 16; background: transparent; }
        OptionList { border: none; padding: 0; }
        OptionList:focus { border: none; }
    }
    """

    class Chosen(Message):
        """An agent was chosen."""

        def __init__(self, agent: AgentId) -> None:
            super().__init__()
            self.agent = agent

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: Beside | None = None

    def compose(self) -> ComposeResult:
        """Parts that are empty are not shown."""
        for name in ("agents", "drift", "focus", "marks", "warnings"):
            yield Static(name.upper(), classes="title", id=f"{name}-title")
            if name == "agents":
                yield OptionList(id="agents", compact=True)
            else:
                yield Static(classes="part", id=name)

    def show(self, beside: Beside) -> None:
        """Shows this from now on."""
        if beside == self._shown or not self.is_mounted:
            return
        self._shown = beside
        agents = self.query_one("#agents", OptionList)
        lit = agents.highlighted
        agents.clear_options()
        agents.add_options(
            [Option(line, agent) for agent, line in agent_lines(beside.agents, beside.here, _ROOM)]
        )
        agents.highlighted = lit if lit is not None and lit < agents.option_count else None
        self.query_one("#agents-title").display = bool(beside.agents)
        state = beside.state
        self._part("marks", _marks(state) if state else [])
        if beside.drift:
            task = f" from “{cut(beside.drift.task, _ROOM - 13)}”"
            self.query_one("#drift-title", Static).update(
                Content.assemble("DRIFT", (task, "not bold $faint"))
            )
        self._part("drift", drift_bars(beside.drift) if beside.drift else [])
        self._part("focus", _focus(state) if state else [])
        self._part("warnings", warnings(state, beside) if state else [])

    def _part(self, name: str, lines: Sequence[Content]) -> None:
        self.query_one(f"#{name}-title").display = bool(lines)
        part = self.query_one(f"#{name}", Static)
        part.display = bool(lines)
        part.update(Content("\n").join(lines))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Switches to an agent."""
        event.stop()
        if event.option_id:
            self.post_message(self.Chosen(AgentId(event.option_id)))


def agent_lines(
    agents: Iterable[Facts], here: AgentId | None, room: int
) -> list[tuple[AgentId, Content]]:
    """The agents as a tree, a line each; `here` is the one that is shown."""
    found = list(tree(agents))
    drawn = branches([depth for _, depth in found])
    return [
        (facts.agent, _agent_line(facts, before, room, here=facts.agent == here))
        for (facts, _), before in zip(found, drawn, strict=True)
    ]


def _agent_line(facts: Facts, before: str, room: int, *, here: bool) -> Content:
    """One agent: what it does, its name, its tokens, its mail."""
    sign, colour = _sign(facts)
    tokens = show(Count(facts.tokens, facts.exact)) if facts.tokens else ""
    mail = f" ✉{facts.unread}" if facts.unread else ""
    source = f" {facts.source}" if facts.source else ""
    space = room - len(before) - 2 - len(tokens) - len(source) - len(mail) - 1
    name = cut(one_line(facts.name) or facts.agent, max(6, space))
    style = "bold $foreground" if here else "$faint" if facts.status != "running" else ""
    return Content.assemble(
        (before, "$faint"),
        (f"{sign} ", colour),
        (name, style),
        (f" {tokens}", "$faint"),
        (source, "$accent"),
        (mail, "$mark"),
    )


def _sign(facts: Facts) -> tuple[str, str]:
    match facts.status:
        case "killed":
            return "✗", "$error"
        case "archived":
            return "▪", "$faint"
        case _:
            return ("◐", "$warning") if facts.working else ("●", "$success")


def _marks(state: State) -> list[Content]:
    return [
        Content.assemble(
            ("◆ ", "$mark"),
            cut(mark.name or "unnamed", _ROOM - 9),
            (f" #{mark.version}", "$faint"),
        )
        for mark in reversed(state.marks[-8:])
    ]


def drift_bars(drift: Drift) -> list[Content]:
    """A bar for each topic; one topic alone has not drifted."""
    if len(drift.topics) < 2:
        return []
    return [
        Content.assemble(
            f"{cut(topic.name, 13):<14}",
            ("█" * round(10 * topic.share), _DRIFTING[topic.status]),
            ("░" * (10 - round(10 * topic.share)), "$panel"),
            (f" {topic.share:>4.0%}", "$faint"),
        )
        for topic in drift.topics[:6]
    ]


def _focus(state: State) -> list[Content]:
    lines = [
        Content.assemble((f"{each.priority} ", "$accent"), cut(each.topic, _ROOM - 2))
        for each in state.focus[:6]
    ]
    return lines + [
        Content.styled(f"· {cut(each, _ROOM - 2)}", "dim") for each in state.background[:4]
    ]


def warnings(state: State, beside: Beside) -> list[Content]:
    """What a person may want to act on, each with what to type."""
    lines: list[Content] = []
    budget, drift = beside.budget, beside.drift
    if budget and budget.level and budget.share is not None:
        share = f"{budget.share:.0%}".replace("%", " %")
        colour = "$error" if budget.level == 3 else "$warning"
        lines.append(Content.assemble((f"▲ {share} of the window is full", colour)))
        lines.append(
            Content.assemble(
                "  ", ("/compact", "bold $accent"), " or ", ("/clear 5", "bold $accent")
            )
        )
    if drift and drift.archive and drift.frees >= _WORTH:
        count = len(drift.archive)
        held = show(Count(drift.frees, exact=False))
        topics = "1 tangent holds" if count == 1 else f"{count} tangents hold"
        lines.append(Content.styled(f"▲ {topics} {held}", "$warning"))
        lines.append(Content.assemble("  ", ("/compact", "bold $accent"), " keeps what matters"))
    if state.inbox:
        count = len(state.inbox)
        lines.append(
            Content.assemble((f"✉ {count} unread mail{'' if count == 1 else 's'}", "$mark"))
        )
        lines.append(Content.assemble("  ", ("/check-mail", "bold $accent")))
    if state.status != "running":
        lines.append(Content.styled(f"▲ this agent is {state.status}", "$warning"))
        lines.append(Content.assemble("  ", ("/fork", "bold $accent"), " to go on from it"))
    return lines
