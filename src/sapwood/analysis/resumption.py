"""The resumption prompt: what a model must know to continue, within a budget of tokens.

Each fact is a line with a rank. Lines are chosen by rank while they fit the budget, and printed by
section. The last request is kept word for word.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger import FileTouched, Ledger, ledger_of
from sapwood.analysis.session import Session, TopicArchive
from sapwood.core.content import Text
from sapwood.core.token_count import Counter
from sapwood.core.turn import Reply, Turn

__all__ = ["resumption_prompt"]

_TITLE = "## Session Resumption"
_SECTIONS = ("Key Context", "Open Items", "Current Focus")
_TOPIC, _SENTENCE, _REPLY = 120, 280, 600
"""The most characters of a topic, of a sentence and of the last reply."""
_MAX_TESTS = 8
_MAX_FILES_READ = 12
_MIN_PROMPT_WORDS = 3
"""Words that an earlier prompt needs to be included."""
_REQUEST_SHARE = 0.5
"""The share of the budget for the last request; a longer one is cut in its middle."""
_CUT = "\n[…]\n"


class _Line(Struct, frozen=True):
    """A line of a section; lines with the same `joined` prefix become one, separated by commas."""

    rank: int
    section: str
    text: str
    joined: str = ""


def resumption_prompt(
    session: Session,
    counter: Counter,
    *,
    focus: Sequence[str] = (),
    archives: Sequence[TopicArchive] = (),
    budget: int = 2_000,
    ledger: Ledger | None = None,
) -> str:
    """Returns the prompt for continuing a session, of at most `budget` tokens.

    `focus` are the topics in focus and `archives` those of the project. `ledger` is the ledger of
    the session; without it, it is computed.
    """
    ledger = ledger_of(session) if ledger is None else ledger
    topic = _topic(session, focus, archives)
    lines = [
        *_session_lines(session, ledger, focus, counter, budget),
        *(line for archive in archives for line in _archive_lines(archive, session)),
    ]
    chosen = _fitting(topic, sorted(lines, key=lambda line: line.rank), counter, budget)
    prompt = _rendered(topic, chosen)
    while chosen and counter.count(prompt).tokens > budget:
        chosen.pop()
        prompt = _rendered(topic, chosen)
    return (
        prompt if counter.count(prompt).tokens <= budget else _first_lines(prompt, counter, budget)
    )


def _topic(session: Session, focus: Sequence[str], archives: Sequence[TopicArchive]) -> str:
    known = (*focus[:1], session.title, session.request, *(each.topic for each in archives[:1]))
    return _one_line(next(filter(None, known), "an unknown task"), _TOPIC)


def _session_lines(
    session: Session, ledger: Ledger, focus: Sequence[str], counter: Counter, budget: int
) -> Iterator[_Line]:
    if ledger.last_request.strip():
        words = _cut_in_middle(ledger.last_request.strip(), counter, int(budget * _REQUEST_SHARE))
        yield _Line(0, "Current Focus", f"- Last request, word for word:\n{_quoted(words)}")
    yield from _failing(ledger)
    yield from _files(ledger)
    for back, decision in enumerate(reversed(ledger.decisions)):
        about = f' (on: "{_one_line(decision.about, _SENTENCE)}")' if decision.about else ""
        text = f"{_one_line(decision.text, _SENTENCE)}{about} (turn {decision.turn})"
        if decision.reversed_by is None:
            yield _Line(300 + back, "Key Context", f"- Decision: {text}")
        else:
            text = f"- Taken back in turn {decision.reversed_by}: {text}"
            yield _Line(700 + back, "Key Context", text)
    for back, question in enumerate(reversed(ledger.questions)):
        text = f"- Open question: {_one_line(question.text, _SENTENCE)} (turn {question.turn})"
        yield _Line(400 + back, "Open Items", text)
    yield from (_Line(450, "Current Focus", f"- In focus: {name}") for name in focus)
    if session.request and session.request != ledger.last_request:
        asked = _one_line(session.request, _SENTENCE)
        yield _Line(500, "Key Context", f"- Original request: {asked}")
    if reply := _last_reply(session):
        yield _Line(550, "Current Focus", f"- The agent said last: {_one_line(reply, _REPLY)}")
    yield from _earlier_prompts(session)


def _earlier_prompts(session: Session) -> Iterator[_Line]:
    """Yields the earlier prompts of the user, the newest with the highest rank."""
    pairs = zip(session.numbers, session.turns, strict=True)
    asked = {number: _prompt(turn) for number, turn in pairs if turn.is_request}
    for back, number in enumerate(sorted(asked, reverse=True)[1:]):
        if len(content_words(asked[number])) >= _MIN_PROMPT_WORDS:
            words = _one_line(asked[number], _SENTENCE)
            yield _Line(1_000 + back, "Key Context", f"- Asked in turn {number}: {words}")


def _prompt(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.prompt if isinstance(part, Text))


def _failing(ledger: Ledger) -> Iterator[_Line]:
    for back, each in enumerate(reversed(ledger.failing)):
        tests = ", ".join(each.tests[:_MAX_TESTS])
        more = f" and {len(each.tests) - _MAX_TESTS} more" if len(each.tests) > _MAX_TESTS else ""
        why = f": {tests}{more}" if tests else f": {each.error}" if each.error else ""
        command = _one_line(each.command, _SENTENCE)
        yield _Line(100 + back, "Open Items", f"- Failing: `{command}`{why} (turn {each.turn})")


def _files(ledger: Ledger) -> Iterator[_Line]:
    files = ledger.files
    kinds = (("created", files.created), ("changed", files.changed), ("deleted", files.deleted))
    for kind, touched in kinds:
        for back, file in enumerate(reversed(touched)):
            yield _Line(200 + back, "Key Context", _file(file), f"- Files {kind}: ")
    known = {file.path for _, touched in kinds for file in touched}
    read = [file for file in files.read if file.path not in known][-_MAX_FILES_READ:]
    for back, file in enumerate(reversed(read)):
        yield _Line(600 + back, "Key Context", file.path, "- Files read: ")


def _archive_lines(archive: TopicArchive, session: Session) -> Iterator[_Line]:
    """Yields the lines of an archive; for an archive of this session only that it exists."""
    when = f", archived {archive.archived}" if archive.archived else ""
    text = f'- There is an archive of "{_one_line(archive.topic, _TOPIC)}"{when}'
    yield _Line(800, "Key Context", text)
    if session.turns and archive.session == session.id:
        return
    if not session.turns and (asked := _last_asked(archive.excerpt)):
        words = _quoted(asked)
        yield _Line(10, "Current Focus", f"- Last request, word for word:\n{words}")
    yield from (_Line(250, "Key Context", f, "- Files then: ") for f in archive.files)
    for text in archive.decisions:
        yield _Line(350, "Key Context", f"- Decision: {_one_line(text, _SENTENCE)}")
    for text in archive.questions:
        yield _Line(420, "Open Items", f"- Open question: {_one_line(text, _SENTENCE)}")


def _last_asked(excerpt: str) -> str:
    asked = [part[6:] for part in excerpt.split("\n\n") if part.startswith("User: ")]
    return asked[-1].strip() if asked else ""


def _fitting(topic: str, lines: Iterable[_Line], counter: Counter, budget: int) -> list[_Line]:
    """Returns the lines that fit, by rank; a line that is too long is skipped."""
    room = budget - counter.count(_rendered(topic, [])).tokens
    chosen: list[_Line] = []
    titles: set[str] = set()
    for line in lines:
        title = line.joined if line.joined not in titles else ", "
        cost = counter.count(f"{title}{line.text}\n").tokens
        if cost <= room:
            room -= cost
            chosen.append(line)
            titles.add(line.joined)
    return chosen


def _rendered(topic: str, lines: Sequence[_Line]) -> str:
    rendered = [_TITLE, "", f"Previous work on: {topic}"]
    for section in _SECTIONS:
        rendered += ["", f"### {section}", *_entries([x for x in lines if x.section == section])]
    return "\n".join(rendered)


def _entries(lines: Sequence[_Line]) -> list[str]:
    """Returns the lines of a section; joined lines are at the position of the first of them."""
    groups: dict[str, list[str]] = {}
    for index, line in enumerate(lines):
        groups.setdefault(line.joined or str(index), []).append(line.text)
    return [
        texts[0] if key.isdigit() else key + ", ".join(reversed(texts))
        for key, texts in groups.items()
    ] or ["- nothing is known"]


def _first_lines(prompt: str, counter: Counter, budget: int) -> str:
    """Returns as many lines from the top as fit the budget."""
    lines = prompt.split("\n")
    while lines and counter.count("\n".join(lines)).tokens > budget:
        lines.pop()
    return "\n".join(lines)


def _file(file: FileTouched) -> str:
    counts = [f"+{file.added}" if file.added else "", f"−{file.removed}" if file.removed else ""]
    changes = " ".join(filter(None, counts))
    return f"{file.path} ({changes})" if changes else file.path


def _last_reply(session: Session) -> str:
    for turn in reversed(session.turns):
        for item in reversed(turn.items):
            if isinstance(item, Reply):
                texts = [part.text for part in item.parts if isinstance(part, Text)]
                if reply := "\n".join(texts).strip():
                    return reply
    return ""


def _cut_in_middle(text: str, counter: Counter, budget: int) -> str:
    """Returns a text, cut in its middle if it has more tokens than the budget."""
    if counter.count(text).tokens <= budget:
        return text
    keep = len(text)
    while keep > 80 and counter.count(text[:keep]).tokens > budget:
        keep = keep * 3 // 4
    return f"{text[: keep * 2 // 3].rstrip()}{_CUT}{text[-(keep // 3) :].lstrip()}"


def _quoted(text: str) -> str:
    return "\n".join(f"  > {line}" for line in text.splitlines())


def _one_line(text: str, room: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= room else f"{words[:room].rstrip()} […]"
