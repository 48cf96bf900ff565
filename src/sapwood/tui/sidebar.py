"""The sidebar: agents, chapters, focus, marks, and warnings with the command to type."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from sapwood.analysis.chapter_report import ChapterReport, ChapterStatus
from sapwood.core.budget import Budget
from sapwood.core.events import NoteKind
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.plural import counted
from sapwood.core.state import State
from sapwood.core.token_count import Count, show
from sapwood.display.agent_tree import branches, tree
from sapwood.display.text import cut, one_line

WIDTH = 34
_LEAST_OFF_TASK = 1_000
"""The least tokens in chapters off the task that cause a warning."""

_ROOM = WIDTH - 5
_NAME = 10
"""Columns that the sign and the name of an agent need at least."""

_ASKING = ("waiting for approval", "needs you", "")
"""What stands instead of the tokens if a tool call waits for approval; the first that fits."""


_NOTE_SIGNS: dict[NoteKind, str] = {"goal": "◎", "decision": "✓", "question": "?", "answer": "✓"}

_STATUS_COLOURS: dict[ChapterStatus | None, str] = {
    "goal": "$success",
    "obstacle": "$success",
    "background": "$warning",
    "other work": "$warning",
    "no work": "$warning",
}


class SidebarContent(Struct, frozen=True):
    """What the sidebar shows."""

    agents: tuple[AgentSummary, ...] = ()
    here: AgentId | None = None
    state: State | None = None
    budget: Budget | None = None
    chapters: ChapterReport | None = None


class Sidebar(VerticalScroll, can_focus=False):
    """Shows what is around the conversation. A click or enter on an agent switches to it."""

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
        self._shown: SidebarContent | None = None

    def compose(self) -> ComposeResult:
        """Yields a title and a text for each part. `show` hides empty parts."""
        for name in ("agents", "chapters", "focus", "notes", "marks", "warnings"):
            yield Static(name.upper(), classes="title", id=f"{name}-title")
            if name == "agents":
                yield OptionList(id="agents", compact=True)
            else:
                yield Static(classes="part", id=name)

    def show(self, content: SidebarContent) -> None:
        """Replaces what the sidebar shows."""
        if content == self._shown or not self.is_mounted:
            return
        self._shown = content
        agents = self.query_one("#agents", OptionList)
        highlighted = agents.highlighted
        agents.clear_options()
        agents.add_options(
            [
                Option(line, agent)
                for agent, line in agent_lines(content.agents, content.here, _ROOM)
            ]
        )
        agents.highlighted = (
            highlighted if highlighted is not None and highlighted < agents.option_count else None
        )
        self.query_one("#agents-title").display = bool(content.agents)
        state = content.state
        self._part("marks", _marks(state) if state else [])
        found = content.chapters if are_chapters_worth_showing(content) else None
        self._part("chapters", chapter_bars(found) if found else [])
        self._part("focus", _focus(state) if state else [])
        self._part("notes", _notes(state) if state else [])
        self._part("warnings", warnings(state, content) if state else [])

    def _part(self, name: str, lines: Sequence[Content]) -> None:
        self.query_one(f"#{name}-title").display = bool(lines)
        part = self.query_one(f"#{name}", Static)
        part.display = bool(lines)
        part.update(Content("\n").join(lines))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Posts `Chosen` for the selected agent."""
        event.stop()
        if event.option_id:
            self.post_message(self.Chosen(AgentId(event.option_id)))


def agent_lines(
    agents: Iterable[AgentSummary], here: AgentId | None, room: int
) -> list[tuple[AgentId, Content]]:
    """The agents as a tree, one line each. `here` is the shown agent."""
    found = list(tree(agents))
    drawn = branches([depth for _, depth in found])
    return [
        (summary.agent, _agent_line(summary, before, room, here=summary.agent == here))
        for (summary, _), before in zip(found, drawn, strict=True)
    ]


def _agent_line(summary: AgentSummary, before: str, room: int, *, here: bool) -> Content:
    """One agent: its state, name, tokens, source and unread mail."""
    sign, colour = _sign(summary)
    tokens = show(Count(summary.tokens, summary.exact)) if summary.tokens else ""
    if summary.asking:
        tokens = next(
            words for words in _ASKING if not words or len(before) + len(words) + _NAME < room
        )
    mail = f" ✉{summary.unread}" if summary.unread else ""
    source = f" {summary.source}" if summary.source else ""
    space = room - len(before) - 2 - len(tokens) - len(source) - len(mail) - 1
    name = cut(one_line(summary.name) or summary.agent, max(6, space))
    style = "bold $foreground" if here else "$faint" if summary.status != "running" else ""
    return Content.assemble(
        (before, "$faint"),
        (f"{sign} ", colour),
        (name, style),
        (f" {tokens}", "$faint"),
        (source, "$accent"),
        (mail, "$mark"),
    )


def _sign(summary: AgentSummary) -> tuple[str, str]:
    match summary.status:
        case "killed":
            return "✗", "$error"
        case "archived":
            return "▪", "$faint"
        case _:
            if summary.asking:
                return "?", "$error"
            return ("◐", "$warning") if summary.working else ("●", "$success")


def _marks(state: State) -> list[Content]:
    return [
        Content.assemble(("◆ ", "$mark"), cut(mark.name or "unnamed", _ROOM - 2))
        for mark in reversed(state.marks[-8:])
    ]


def are_chapters_worth_showing(content: SidebarContent) -> bool:
    """Whether somebody set a focus, or chapters off the task hold enough to act on."""
    found, state = content.chapters, content.state
    if found is None or state is None:
        return False
    return bool(state.focus) or (bool(found.archive) and found.frees >= _LEAST_OFF_TASK)


def chapter_bars(report: ChapterReport) -> list[Content]:
    """A bar for each of the newest chapters, in their order; none for a single chapter."""
    if len(report.chapters) < 2:
        return []
    return [
        Content.assemble(
            f"{cut(chapter.name, 13):<14}",
            ("█" * round(10 * chapter.share), _STATUS_COLOURS.get(chapter.status, "$accent")),
            ("░" * (10 - round(10 * chapter.share)), "$bar"),
            (f" {chapter.share:>4.0%}", "$faint"),
        )
        for chapter in report.chapters[-6:]
    ]


def _focus(state: State) -> list[Content]:
    lines = [
        Content.assemble((f"{each.priority} ", "$accent"), cut(each.topic, _ROOM - 2))
        for each in state.focus[:6]
    ]
    return lines + [
        Content.styled(f"· {cut(each, _ROOM - 2)}", "dim") for each in state.background[:4]
    ]


def _notes(state: State) -> list[Content]:
    """The newest active notes, the newest first."""
    return [
        Content.assemble(
            (f"{_NOTE_SIGNS[each.note]} ", "$accent"), cut(one_line(each.text), _ROOM - 2)
        )
        for each in reversed(state.declared[-6:])
    ]


def warnings(state: State, content: SidebarContent) -> list[Content]:
    """What the person may want to act on, each with the command to type."""
    lines: list[Content] = []
    budget, chapters = content.budget, content.chapters
    if state.inbox:
        count = len(state.inbox)
        lines.append(Content.assemble((f"✉ {counted(count, 'unread mail')}", "$mark")))
        lines.append(Content.assemble("  ", ("/check-mail", "bold $accent")))
    if budget and budget.level and budget.share is not None:
        share = f"{budget.share:.0%}".replace("%", " %")
        colour = "$error" if budget.level == 3 else "$warning"
        full = f"▲ {share} of the {budget.edge} is full"
        lines.append(Content.assemble((full, colour)))
        lines.append(
            Content.assemble(
                "  ", ("/compact", "bold $accent"), " or ", ("/clear 5", "bold $accent")
            )
        )
    if chapters and chapters.archive and chapters.frees >= _LEAST_OFF_TASK:
        count = len(chapters.archive)
        tokens = show(Count(chapters.frees, exact=False))
        lines.append(
            Content.styled(f"▲ {counted(count, 'chapter')} off task: {tokens}", "$warning")
        )
        lines.append(Content.assemble("  ", ("/compact", "bold $accent"), " keeps what matters"))
    if state.status != "running":
        lines.append(Content.styled(f"▲ this agent is {state.status}", "$warning"))
        lines.append(Content.assemble("  ", ("/fork", "bold $accent"), " to continue from it"))
    return lines
