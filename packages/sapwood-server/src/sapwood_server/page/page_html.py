"""The frame of every page as HTML: bar, list, conversation, composer, side.

The page for those who are not signed in.

A tool call that waits for approval, as HTML: the exact text, and the answers.

What stands beside a conversation, as HTML: budget, warnings, chapters, notes.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.analysis.chapter_report import Chapter, ChapterReport
from sapwood.app.permission_questions import PostedQuestion
from sapwood.conversation.cut_preview import CutPlan
from sapwood.conversation.person_shell import job_status
from sapwood.conversation.surroundings import WindowUse
from sapwood.core.events import TodoItem
from sapwood.core.plural import counted
from sapwood.core.state import DeclaredNote, Job, State
from sapwood.core.token_count import Count, show
from sapwood.display.permission_text import (
    AnswerChoice,
    answer_choices,
    approval_lines,
    invisible_characters,
    request_sentence,
)
from sapwood.display.quantities import TODO_SIGNS, edge_text, money, todo_line
from sapwood.programs.registry import programs_with
from sapwood_server.page.composer_html import ComposerFacts, composer_html, welcome_html
from sapwood_server.page.html_text import attribute, exact_text, explained, line, size, text

_MARK = (
    '<svg viewBox="0 0 20 20" aria-hidden="true"><g fill="none" stroke="currentColor">'
    '<circle cx="10" cy="10" r="8.6" stroke-width="2"/><circle cx="10" cy="10" r="5.6" '
    'stroke-width="1.3"/><circle cx="10" cy="10" r="3" stroke-width="1" opacity=".55"/></g></svg>'
)


_HEAD = (
    '<div class="headbar" id="head" hidden><span class="grip" role="slider" tabindex="0" '
    'aria-label="Where the context begins" aria-orientation="vertical" aria-valuemin="0" '
    'aria-valuemax="0" aria-valuenow="0">⇕</span><b></b><span class="what ell"></span>'
    '<button class="btn sm cut" data-trim>Trim <kbd>⏎</kbd></button>'
    '<button class="btn bare sm" data-leave>Leave '
    "<kbd>esc</kbd></button></div>"
)
"""The head while it is moved by hand. It floats over the rows, so it moves none of them."""

_VIEWS = ("timeline", "context", "calls", "costs")


class PageParts(Struct, frozen=True):
    """What is inside the frame. `version` is that of the rows, from which events are followed.

    `is_open`: a turn is open at that version.
    """

    list: str
    rows: str = ""
    side: str = ""
    whole: str = ""
    first: int = 0
    total: int = 0
    version: int = 0
    moved: int = 0
    complete: bool = True
    is_open: bool = False
    view: str = "timeline"
    composer: ComposerFacts = ComposerFacts()
    has_side: bool = False


def page_html(parts: PageParts, state: State | None) -> str:
    """A whole page. Without a state there is no conversation yet."""
    title = line(state.name) or line(state.agent) if state else "Sapwood"
    agent = state.agent if state else ""
    data = (
        f'data-agent="{attribute(agent)}" data-first="{parts.first}" data-total="{parts.total}" '
        f'data-version="{parts.version}" data-moved="{parts.moved}" '
        f'data-complete="{str(parts.complete).lower()}" data-view="{parts.view}" '
        f'data-open="{str(parts.is_open).lower()}"'
    )
    return (
        '<!doctype html><html lang="en" data-theme="dark"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">'
        f"<title>{title} · Sapwood</title>"
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        '<script src="/static/start.js"></script>'
        '<link rel="stylesheet" href="/static/sapwood.css">'
        '<script type="module" src="/static/sapwood.js"></script></head>'
        f'<body {data}><a class="vh skip" href="#main">Skip to the conversation</a>'
        f'<div class="app{"" if parts.has_side else " no-side"}">{_top(state, title, parts)}'
        f"{_list(parts.list)}"
        f"{_main(parts, state)}{_side(parts.side) if parts.has_side else ''}</div>"
        f"{_dialogs()}</body></html>"
    )


def _top(state: State | None, title: str, parts: PageParts) -> str:
    crumb = ""
    tabs = ""
    if state:
        folder = line(state.workspace.folder.rstrip("/").rpartition("/")[2])
        branch = line(state.workspace.branch)
        chip = f'<span class="chip">{branch}</span>' if branch else ""
        where = f'<span class="faint wide">{folder} /</span>' if folder else ""
        crumb = f'{where}<h1 class="ell">{title}</h1>{chip}'
        tabs = "".join(
            f'<a href="?view={name}" data-view="{name}"'
            f"{' aria-current=page' if name == parts.view else ''}>{name.capitalize()} "
            f'<kbd aria-hidden="true">{number}</kbd></a>'
            for number, name in enumerate(_VIEWS, 1)
        )
    save = side = ""
    settings = '<a class="btn sm" href="/settings" aria-label="Settings" title="Settings">⚙</a>'
    if parts.has_side:
        side = (
            '<button class="btn sm drawer" data-drawer="side" aria-label="Context" '
            'aria-expanded="false">▤</button>'
        )
    if state:
        save = (
            f'<a class="btn sm wide" href="/v1/agents/{attribute(state.agent)}/export.html?'
            'everything=1" download title="Save the conversation as a single HTML file" '
            'aria-label="Save as a single HTML file">⤓</a>'
        )
    return (
        '<header class="top"><button class="btn sm drawer" data-drawer="list" '
        'aria-label="Conversations" aria-expanded="false">☰</button>'
        f'<a class="brand" href="/">{_MARK}<span>sapwood</span></a>'
        f'<div class="crumb ell">{crumb}</div>'
        f'<nav class="tabs" aria-label="Views of this conversation">{tabs}</nav>'
        '<span class="row-x num" id="link" role="status"><span aria-hidden="true">○</span>'
        '<span class="words">connecting</span></span>'
        f"{save}"
        '<button class="btn sm" id="theme" aria-label="Switch between dark and light">◐</button>'
        f"{settings}{side}"
        '<button class="btn sm wide" id="help" aria-label="Keyboard shortcuts">?</button></header>'
    )


def _list(inside: str) -> str:
    programs = ((each.title, each.short_title) for each in programs_with("sessions"))
    filters = "".join(
        f'<button aria-pressed="{str(number == 0).lower()}" data-filter="{name}">{words}</button>'
        for number, (name, words) in enumerate((("", "All"), ("Sapwood", "Sapwood"), *programs))
    )
    return (
        '<nav class="list" aria-label="Conversations"><div class="list-head">'
        '<a class="btn go new" id="new" href="/?new=1"><span aria-hidden="true">+</span>New '
        'conversation<kbd aria-hidden="true">n</kbd></a>'
        '<button class="find" id="find"><span aria-hidden="true">⌕</span>'
        '<span class="grow">Search all messages</span><kbd>/</kbd></button>'
        f'<div class="filters" role="group" aria-label="Program">{filters}</div></div>'
        f'<div class="pane grow" id="list" tabindex="0" aria-label="All conversations">'
        f"{inside}</div></nav>"
    )


def _main(parts: PageParts, state: State | None) -> str:
    if parts.whole:
        inside = f'<div id="whole" class="pane grow">{parts.whole}</div>'
        return f'<main class="main" id="main">{inside}</main>'
    welcome = "" if state else welcome_html(parts.composer)
    role = ' role="feed" aria-label="Timeline" aria-busy="false"' if parts.rows else ""
    return (
        f'<main class="main" id="main"><div class="pane feed" id="feed" '
        f'tabindex="0"><div class="space" id="above"></div>'
        f'<div id="rows"{role}>{parts.rows}</div>{welcome}<div id="stream"></div>'
        f'<div class="space" id="below"></div>{_HEAD if state else ""}</div>'
        '<div class="to-end"><button class="btn sm latest" id="latest" hidden>▼ '
        "<span>latest</span></button></div>"
        '<section class="cutbar" id="picked" aria-label="Drop turns" hidden><div id="saves"></div>'
        '<div class="acts"><button class="btn bare" id="unpick">Cancel <kbd>esc</kbd></button>'
        '<button class="btn cut" id="drop"></button></div></section>'
        f"{composer_html(parts.composer)}</main>"
    )


def _side(inside: str) -> str:
    return f'<aside class="side" id="side" aria-label="Context">{inside}</aside>'


def _dialogs() -> str:
    return (
        '<div class="vh" id="live" aria-live="polite"></div><dialog class="ask" id="ask" '
        'aria-label="Approval"></dialog><dialog class="ask finder" id="finder" '
        'aria-label="Search"><header><input id="words" '
        'placeholder="Search conversations and messages" '
        'aria-label="Words"></header><div class="scroll" id="hits" '
        'tabindex="0"></div></dialog><dialog class="ask" id="map" aria-label="Keyboard '
        'map"></dialog>'
    )


_SIGN_IN_HEAD = (
    '<!doctype html><html lang="en" data-theme="dark"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
    '<link rel="stylesheet" href="/static/sapwood.css"><script src="/static/start.js"></script>'
)


def sign_in_page(detail: str = "") -> str:
    """Asks for a token, and says why."""
    why = line(detail) or (
        "Open the address that <code>sapwood serve</code> printed, paste a token, or type the code "
        "that a signed-in browser shows under Settings."
    )
    return (
        f"{_SIGN_IN_HEAD}<title>Sign in · Sapwood</title>"
        '<script type="module" src="/static/sign-in.js"></script></head>'
        '<body><main class="signin"><h1 class="h1">Sign in to Sapwood</h1>'
        f'<p role="alert">{why}</p><form><label for="token">Token or code</label>'
        '<input id="token" type="password" autocomplete="off" required>'
        '<button class="btn go">Sign in</button></form></main></body></html>'
    )


def problem_page(detail: str) -> str:
    """Says why there is nothing to see at an address, and leads back."""
    return (
        f"{_SIGN_IN_HEAD}<title>Not available · Sapwood</title></head>"
        '<body><main class="signin"><h1 class="h1">This page is not available</h1>'
        f'<p role="alert">{line(detail)}</p>'
        '<a class="btn go" href="/">To the conversations</a></main></body></html>'
    )


def question_html(posted: PostedQuestion, agent_name: str, waiting: int) -> str:
    """The dialog of one question. `waiting` is how many questions wait in all."""
    question = posted.question
    lines = approval_lines(question)
    hidden = invisible_characters(lines)
    shown = "".join(
        f'<div class="would {each.kind}">{exact_text(each.text) or "&nbsp;"}</div>'
        for each in lines
    )
    alert = ""
    if hidden:
        alert = (
            '<div class="alert" role="alert"><span class="bad">▲</span><span><b>'
            f"{counted(hidden, 'place')} with invisible characters.</b> They are shown as "
            "chips. What you see here is what runs.</span></div>"
        )
    more = f'<span class="num faint">{waiting} wait</span>' if waiting > 1 else ""
    choices = answer_choices(question)
    hint = attribute(next((each.hint for each in choices if each.hint), ""))
    buttons = "".join(map(_button, choices))
    why = f"<dt>Why</dt><dd>{line(question.why)}</dd>"
    about = (
        f'<dl class="facts"><dt>Who</dt><dd>{line(agent_name)}</dd><dt>Folder</dt>'
        f'<dd class="mono">{line(question.workspace)}</dd>{why}<dt>Hash</dt>'
        f'<dd class="mono">sha256 {posted.hash[:12]}</dd></dl>'
    )
    kind = ' data-choices="1"' if question.choices else ""
    return (
        f'<header><h2>{line(request_sentence(question))}</h2><span class="grow"></span>{more}'
        f'</header><div class="scroll" tabindex="0">{"" if question.choices else about}'
        f'<div class="code cmd">{shown}</div>{alert}'
        f'<label class="vh" for="reason">{hint}</label>'
        f'<input id="reason" placeholder="{hint}" hidden></div>'
        f'<footer data-question="{attribute(posted.id)}" data-hash="{attribute(posted.hash)}"'
        f"{kind}>{buttons}</footer>"
    )


def _button(choice: AnswerChoice) -> str:
    plain = choice.replies or bool(choice.rules)
    colour = "" if plain else "go" if choice.allows else "no"
    title = attribute(choice.grants)
    return (
        f'<button class="btn {colour}" data-key="{choice.key}" title="{title}">'
        f"{line(choice.words)} <kbd>{choice.key}</kbd></button>"
    )


def work_html(state: State, problem: str, *, goal_waits: bool = False) -> str:
    """What the agent works on: its goal, its to-do list and its background commands.

    `problem` says why the goal does not continue; one that waits has to be continued. Where the
    side is closed, the page shows the line in `data-work` above the message.
    """
    sections = _goal(state, problem, goal_waits) + _todo(state.todo) + _jobs(state.jobs)
    words = [f"◎ goal {state.goal.progress}"] if state.goal else []
    if any(item.status != "done" for item in state.todo):
        words.append(todo_line(state.todo))
    running = sum(job_status(each) == "running" for each in state.jobs)
    words += [f"▷ {counted(running, 'background command')}"] if running else []
    summary = f'<div data-work="{attribute(" · ".join(words))}"></div>' if words else ""
    return summary + sections


def limit_html(at: int) -> str:
    """When the limit of a provider resets, for the row above the message; nothing if none has to.

    `at` is in microseconds since 1970; 0 if the page waits for nothing.
    """
    return f'<div data-limit="{at // 1_000}"></div>' if at else ""


def _goal(state: State, problem: str, waits: bool) -> str:
    goal = state.goal
    if goal is None:
        return ""
    check = f'<p class="mono faint">{line(goal.check)}</p>' if goal.check else ""
    stuck = f'<p class="warn">{line(problem)}</p>' if problem else ""
    go_on = '<button class="btn sm" data-run="/goal continue">Continue</button>' if waits else ""
    return (
        '<section class="sec" aria-label="Goal"><header><h2 class="cap grow">Goal</h2>'
        f'<span class="num faint">{goal.progress}</span>{go_on}'
        '<button class="btn bare sm" data-run="/goal stop">Stop</button></header>'
        f"<p>{line(goal.text)[:500]}</p>{check}{stuck}</section>"
    )


def _todo(items: Sequence[TodoItem]) -> str:
    if not items:
        return ""
    done = sum(item.status == "done" for item in items)
    rows = "".join(
        f'<li class="todo-{item.status}"><span aria-hidden="true">{TODO_SIGNS[item.status]}</span>'
        f'<span><span class="vh">{item.status}: </span>{line(item.text)}</span></li>'
        for item in items
    )
    return (
        '<section class="sec" aria-label="To do"><header><h2 class="cap grow">To do</h2>'
        f'<span class="num faint">{done} of {len(items)} done</span></header>'
        f'<ul class="notes">{rows}</ul></section>'
    )


def _jobs(jobs: Sequence[Job]) -> str:
    if not jobs:
        return ""
    rows = "".join(_job(each) for each in reversed(jobs))
    return (
        '<section class="sec" aria-label="Background commands"><header><h2 class="cap grow">'
        f"Background commands</h2></header>{rows}</section>"
    )


def _job(job: Job) -> str:
    status = job_status(job)
    end = ""
    if status == "running":
        end = f'<button class="btn bare sm" data-run="/jobs end {job.job}">End</button>'
    return (
        f'<div class="job"><details data-keep="job-{job.job}"><summary><span class="num">'
        f'{job.job}</span> <span class="mono">{line(job.line)}</span></summary>'
        f'<pre class="args" tabindex="0">{text(job.output) or "No output yet."}</pre></details>'
        f'<span class="num faint">{line(status)}</span>{end}</div>'
    )


_CHAPTERS = 5
_CHAPTER_HELP = (
    "A chapter is a stretch of turns about one thing, named by the first words that you typed in "
    "it. Its share is how much of the model's view it takes up."
)

_KINDS = {
    "system": "k-system",
    "tools": "k-tools",
    "pins": "k-pins",
    "summary": "k-summary",
    "messages": "k-msg",
    "tool results": "k-result",
}


def budget_html(found: WindowUse, plan: CutPlan) -> str:
    """How full the window is, with what, and what the next call costs."""
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
    ended = " (cache ended)" if plan.is_cold else ""
    next_call = "price unknown"
    if plan.now is not None:
        next_call = f"next call{ended} <b>{money(plan.now)}</b>"
    return (
        '<section class="sec"><header><h2 class="cap grow">Budget</h2>'
        '<a class="num warn" href="?view=context" data-view="context">what fills it ▸</a></header>'
        f'<div class="row-x base"><span class="big">{size(budget.used)}</span>'
        f'<span class="faint">{of}</span><span class="grow"></span>{level}</div>'
        f'<div class="budget" role="meter" aria-label="Tokens in view" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{min(100, percent)}" '
        f'aria-valuetext="{attribute(edge_text(budget))}">{bars}</div>'
        f'<ul class="legend">{legend}</ul><div class="row-x num spent">'
        f"<span><b>{money(found.spent.cost)}</b> so far</span><span>{next_call}</span>"
        f"</div>{_cold_html(plan)}</section>"
    )


def _cold_html(plan: CutPlan) -> str:
    """What coming back costs after a pause, and a button that trims first."""
    if plan.back is None:
        return ""
    button = ""
    if plan.back.keep:
        button = (
            f'<button class="btn bare sm" data-run="/clear {plan.back.keep}">'
            f"trim to {plan.back.keep} turns</button>"
        )
    return f'<p class="row-x warn">{line(plan.back.sentence("/{}"))}{button}</p>'


def _percent(part: int, whole: int) -> int:
    return min(100, round(100 * part / whole))


def warnings_html(found: WindowUse) -> str:
    """What wants attention: the limit of the window, unread mail."""
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


def chapters_html(report: ChapterReport | None) -> str:
    """The subjects of what is in view, the largest first."""
    if report is None or not report.chapters:
        return ""
    rows = "".join(
        f'<li class="chap"><span class="ell" title="{attribute(each.name)}">{line(each.name)}'
        f"{_status(each)}</span>"
        f'<span class="meter" aria-hidden="true"><i class="w{round(100 * each.share)}"></i></span>'
        f'<span class="num">{round(100 * each.share)} % '
        f"{size(Count(each.tokens, exact=False))}</span></li>"
        for each in sorted(report.chapters, key=lambda each: -each.tokens)[:_CHAPTERS]
    )
    return (
        '<section class="sec"><header><h2 class="cap grow">Chapters</h2>'
        f'<span class="num faint">of what is in view</span>{explained(_CHAPTER_HELP)}</header>'
        f"<ul>{rows}</ul></section>"
    )


def _status(chapter: Chapter) -> str:
    return f' <span class="chip">{chapter.status}</span>' if chapter.status else ""


def notes_html(notes: Sequence[DeclaredNote]) -> str:
    """What people and agents declared, the newest first."""
    if not notes:
        return ""
    rows = "".join(
        f'<li><span class="chip">{line(each.note)}</span><span>{line(each.text)[:300]}</span></li>'
        for each in reversed(notes)
    )
    return (
        f'<section class="sec"><header><h2 class="cap grow">Notes</h2>'
        f'<span class="num faint">{len(notes)}</span></header><ul class="notes">{rows}</ul>'
        "</section>"
    )
