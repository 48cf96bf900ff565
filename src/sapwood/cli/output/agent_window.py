"""The context window of an agent: what fills it, and what its calls cost."""

from sapwood.cli.output.event_text import usage_value
from sapwood.cli.output_gate import styled
from sapwood.conversation.context_breakdown import ContextBreakdown
from sapwood.core.budget import Budget
from sapwood.core.content import Usage
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.display.quantities import cache_share, percent_of, short_usage, usage_line
from sapwood.display.text import cut, one_line

_LEVELS = (None, "yellow", "yellow", "red")


def context_lines(window: ContextBreakdown, width: int) -> list[str]:
    """Returns the window as lines."""
    budget, settings, calls = window.budget, window.settings, window.last_turn
    blocks = [
        ("system", budget.system, ""),
        *_tools(budget),
        ("pins", budget.pins, _pins(window)),
        ("summary", budget.summary, _front(window)),
        ("history", budget.history, f"{counted(window.turns, 'turn')} in view" + _of_cap(budget)),
    ]
    lines = [cut(f"{window.agent} {one_line(window.name)}", width), ""]
    lines += [_block(name, count, note, width) for name, count, note in blocks]
    lines += [_block("total", budget.total, _of_window(budget), width, _LEVELS[budget.level]), ""]
    facts = [
        ("model", settings.model or "none"),
        ("cap", f"{settings.cap:,} tokens of history" if settings.cap else "none"),
        ("spent", _spent(width, window.spent)),
        ("turn", _spent(width, *calls)),
        ("call", _spent(width, *calls[-1:])),
        ("marks", ", ".join(mark or "(unnamed)" for mark in window.marks) or "none"),
        ("mail", f"{window.unread} unread" if window.unread else "none"),
    ]
    return lines + [f"{name:<8} {cut(value, max(width - 9, 12))}" for name, value in facts]


def context_value(window: ContextBreakdown) -> dict[str, object]:
    """Returns the window as a value for JSON."""
    budget = window.budget
    blocks = {
        "system": budget.system,
        "tools": budget.tools,
        "pins": budget.pins,
        "summary": budget.summary,
        "history": budget.history,
        "total": budget.total,
    }
    return {
        "agent": window.agent,
        "name": window.name,
        "blocks": blocks,
        "window": budget.window,
        "cap": budget.cap,
        "edge": budget.edge,
        "share": budget.share,
        "level": budget.level,
        "turns": window.turns,
        "settings": window.settings,
        "spent": usage_value(window.spent),
        "cache": cache_share(window.spent),
        "last_turn": [usage_value(each) for each in window.last_turn],
        "marks": window.marks,
        "pins": window.pins,
        "pinned_files": window.pinned_files,
        "loaded": window.loaded,
        "unread": window.unread,
    }


def _tools(budget: Budget) -> list[tuple[str, Count, str]]:
    """Returns the row of the tools; none before the first call, when they are not known."""
    return [("tools", budget.tools, "sent with every request")] if budget.tools.tokens else []


def _block(name: str, count: Count, note: str, width: int, colour: str | None = None) -> str:
    number = f"{show(count) if count.tokens else '0':>7}"
    number = styled(number, fg=colour) if colour else number
    return f"{name:<8} {number}  {cut(note, max(width - 18, 12))}".rstrip()


def _pins(window: ContextBreakdown) -> str:
    files = window.pinned_files
    return ", ".join(f"{pin} from {files[pin]}" if pin in files else pin for pin in window.pins)


def _front(window: ContextBreakdown) -> str:
    with_ = ["the last request"] if window.carries_request else []
    with_ += [f"turn {place}" for place in window.loaded]
    return f"with {', '.join(with_)}" if with_ else ""


def _of_window(budget: Budget) -> str:
    if budget.share is None:
        return "window size unknown"
    return percent_of(budget.total, budget.window) if budget.window else ""


def _of_cap(budget: Budget) -> str:
    return f", {percent_of(budget.history, budget.cap)} cap" if budget.cap else ""


def _spent(width: int, *usages: Usage) -> str:
    used = sum(usages, Usage(0))
    if not used.input:
        return "nothing yet"
    line = usage_line(used)
    return line if len(line) <= width - 9 else short_usage(used)
