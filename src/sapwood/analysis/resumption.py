"""The resumption prompt: what a model must know to continue, within a budget of tokens.

It is the recap after a compaction: goal, decisions in force with what they answer, files, what
fails, open questions, the last request. Each fact is a line with a rank. Lines are chosen by rank
while they fit the budget, and printed by section. The last request is kept word for word. Nothing
is told twice.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from sapwood.analysis.declared_notes import plan_of
from sapwood.analysis.language.pasted_text import typed_text
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.entries import Decision, FileTouched, Ledger, Question
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.session import Session, TopicArchive, request_text
from sapwood.core.content import Text
from sapwood.core.token_count import Counter
from sapwood.core.turn import Reply
from sapwood.core.turn_numbers import turn_words
from sapwood.core.view.frames import escaped

_TITLE = "## Session Resumption"
_SECTIONS = ("Key Context", "Open Items", "Current Focus")
_TOPIC, _ABOUT, _SENTENCE, _REPLY = 120, 160, 280, 600
"""The most characters of a topic, of a question, of a sentence and of the last reply."""
_MAX_TESTS = 8
_MAX_FILES_READ = 12
_MAX_STEPS = 8
_MIN_PROMPT_WORDS = 3
"""Words that an earlier prompt needs to be included."""
_REQUEST_SHARE = 0.5
"""The share of the budget for the last request; a longer one is cut in its middle."""
_CUT = "\n[…]\n"
_ASK_FOR_NOTES = "When the user decides something, keep it: tool `context`, action `note`."
_ASKING_BUDGET = 400
"""Tokens that a prompt may have at least if it asks for notes."""
_LABELLED = re.compile(r"(?:(?:decision|decided)\s*[:–—-]\s*)+", re.IGNORECASE)


class _Line(Struct, frozen=True):
    """A line of a section; lines with the same `joined` prefix become one, separated by commas.

    A line that repeats what was `said` in an earlier one is left out, unless it is for `always`.
    """

    rank: int
    section: str
    text: str
    joined: str = ""
    said: str = ""
    always: bool = False


def resumption_prompt(
    session: Session,
    counter: Counter,
    *,
    focus: Sequence[str] = (),
    archives: Sequence[TopicArchive] = (),
    budget: int = 2_000,
    ledger: Ledger | None = None,
    to_subagent: bool = False,
    fence: str = "",
    in_view: Collection[int] = (),
    is_recap: bool = False,
) -> str:
    """Returns the prompt for continuing a session, of at most `budget` tokens.

    `focus` are the topics in focus and `archives` those of the project. `ledger` is the ledger of
    the session; without it, it is computed. A subagent has a request of its own, so the prompt for
    it has no last request and no last reply. `fence` marks the end of the prompt: nobody whose
    words are in it can know the mark. `in_view` are the numbers of turns that the model still
    sees: their decisions and questions are left out. A recap follows a compaction: it has the
    earlier prompts too. What a rewind left behind is in neither.
    """
    ledger = ledger_of(session, live=True) if ledger is None else ledger
    topic = _topic(session, focus, archives)
    lines = [
        *_session_lines(
            session, _out_of_view(ledger, in_view), focus, counter, budget, to_subagent=to_subagent
        ),
        *_earlier_prompts(session, is_recap=is_recap),
        *_planned(session),
        *(line for archive in archives for line in _archive_lines(archive, session)),
    ]
    told = _once(topic, sorted(lines, key=lambda line: line.rank))
    asks = not to_subagent and budget >= _ASKING_BUDGET
    limit, (head, end) = budget, _enclosure(fence, asks_for_notes=asks)
    budget -= counter.count(head + end).tokens if fence else 0
    chosen = _fitting(topic, told, counter, budget)
    prompt = _rendered(topic, chosen)
    while chosen and counter.count(prompt).tokens > budget:
        chosen.pop()
        prompt = _rendered(topic, chosen)
    if counter.count(prompt).tokens > budget:
        prompt = _first_lines(prompt, counter, budget)
    if not fence or not prompt:
        return prompt
    lines = escaped(prompt.removeprefix(_TITLE)).split("\n")
    while lines and counter.count(_TITLE + head + "\n".join(lines) + end).tokens > limit:
        lines.pop()  # parts may have fewer tokens than the whole
    return _TITLE + head + "\n".join(lines) + end


def _enclosure(fence: str, *, asks_for_notes: bool) -> tuple[str, str]:
    """What stands after the title and at the end of a prompt with a fence."""
    head = f"\n\nA record by Sapwood, up to [end {fence}]. It is not a request."
    return head + (f" {_ASK_FOR_NOTES}" if asks_for_notes else ""), f"\n[end {fence}]"


def _once(topic: str, lines: Iterable[_Line]) -> Iterator[_Line]:
    """The lines without those that repeat what the topic or an earlier line says."""
    said = {topic.casefold()}
    for line in lines:
        words = (line.said or line.text).casefold()
        if line.joined or line.always or words not in said:
            yield line
        said.add(words)


def _topic(session: Session, focus: Sequence[str], archives: Sequence[TopicArchive]) -> str:
    known = (*focus[:1], session.title, session.request, *(each.topic for each in archives[:1]))
    return _one_line(next(filter(None, known), "an unknown task"), _TOPIC)


def _session_lines(
    session: Session,
    ledger: Ledger,
    focus: Sequence[str],
    counter: Counter,
    budget: int,
    *,
    to_subagent: bool = False,
) -> Iterator[_Line]:
    if ledger.last_request.strip() and not to_subagent:
        words = _cut_in_middle(ledger.last_request.strip(), counter, int(budget * _REQUEST_SHARE))
        said = _one_line(ledger.last_request, _SENTENCE)
        answered = " (answered)" if _is_answered(session) else ""
        text = f"- Last request{answered}, word for word:\n{_quoted(words)}"
        yield _Line(0, "Current Focus", text, said=said, always=True)
    yield from _failing(ledger)
    yield from _files(ledger)
    decided: set[str] = set()
    for back, decision in enumerate(reversed(ledger.decisions)):
        said = _LABELLED.sub("", _one_line(decision.text, _SENTENCE), count=1).strip()
        text = f"{_with_question(said, decision.about)} ({_turn(decision)})"
        if said.casefold() in decided or decision.reversed_by is not None:
            continue
        decided.add(said.casefold())
        line = f"- Decision: {text}"
        yield _Line(300 + back, "Key Context", line, said=said, always=True)
    for back, question in enumerate(reversed(ledger.questions)):
        asked = _with_question(_one_line(question.text, _SENTENCE), question.about)
        text = f"- Open question: {asked} ({_turn(question)})"
        yield _Line(400 + back, "Open Items", text)
    yield from (_Line(450, "Current Focus", f"- In focus: {name}", said=name) for name in focus)
    if session.request and session.request != ledger.last_request:
        asked = _one_line(session.request, _SENTENCE)
        yield _Line(500, "Key Context", f"- Original request: {asked}", said=asked)
    if not to_subagent and (reply := _last_reply(session)):
        yield _Line(550, "Current Focus", f"- Last reply: {_one_line(reply, _REPLY)}")


def _turn(entry: Decision | Question) -> str:
    return turn_words(entry.turn) + (f", {entry.source}" if entry.source != "derived" else "")


def _with_question(said: str, about: str) -> str:
    """Returns what was said after the question that it answers."""
    asked = _LABELLED.sub("", _one_line(about, _ABOUT), count=1).strip()
    return f"{asked} → {said}" if asked else said


def _out_of_view(ledger: Ledger, in_view: Collection[int]) -> Ledger:
    """Returns the ledger without what was said in turns that the model still sees."""
    if not in_view:
        return ledger
    return structs.replace(
        ledger,
        decisions=tuple(each for each in ledger.decisions if each.turn not in in_view),
        questions=tuple(each for each in ledger.questions if each.turn not in in_view),
    )


def _earlier_prompts(session: Session, *, is_recap: bool) -> Iterator[_Line]:
    """Yields earlier requests, the newest with the highest rank: those since the last ended turn.

    A recap has all of them, because the model no longer sees them.
    """
    asked = [(n, turn, text) for n, turn in session.live if (text := request_text(turn))]
    is_open = not asked or asked[-1][1].status != "completed"
    for back, (number, turn, text) in enumerate(reversed(asked[:-1])):
        is_open &= turn.status != "completed"
        words = _one_line(typed_text(text), _SENTENCE)
        said = _LABELLED.sub("", words, count=1).strip()
        if is_open:
            line = f"- Asked in {turn_words(number)}, not finished: {words}"
            yield _Line(430 + back, "Open Items", line, said=said)
        elif is_recap and len(content_words(words)) >= _MIN_PROMPT_WORDS:
            line = f"- Asked in {turn_words(number)}: {words}"
            yield _Line(1_000 + back, "Key Context", line, said=said)


def _planned(session: Session) -> Iterator[_Line]:
    """Yields the steps of the agent's own plan that are not done."""
    steps = [each for each in plan_of(session) if each.status not in ("completed", "cancelled")]
    for place, step in enumerate(steps[:_MAX_STEPS]):
        status = f" ({step.status.replace('_', ' ')})" if step.status else ""
        yield _Line(440 + place, "Open Items", f"- In the agent's plan: {step.text}{status}")


def _is_answered(session: Session) -> bool:
    """Whether the turn of the last request has ended with a reply."""
    turns = [turn for _, turn in session.live]
    last = next((turn for turn in reversed(turns) if request_text(turn)), None)
    return last is not None and last.status == "completed" and last is turns[-1]


def _failing(ledger: Ledger) -> Iterator[_Line]:
    for back, each in enumerate(reversed(ledger.failing)):
        tests = ", ".join(each.tests[:_MAX_TESTS])
        more = f" and {len(each.tests) - _MAX_TESTS} more" if len(each.tests) > _MAX_TESTS else ""
        why = f": {tests}{more}" if tests else f": {each.error}" if each.error else ""
        command = _one_line(each.command, _SENTENCE)
        yield _Line(
            100 + back, "Open Items", f"- Failing: `{command}`{why} ({turn_words(each.turn)})"
        )


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
        yield _Line(10, "Current Focus", f"- Last request, word for word:\n{words}", always=True)
    yield from (_Line(250, "Key Context", f, "- Files then: ") for f in archive.files)
    for text in archive.decisions:
        said = _LABELLED.sub("", _one_line(text, _SENTENCE), count=1).strip()
        yield _Line(350, "Key Context", f"- Decision: {said}", said=said)
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
    for _, turn in reversed(session.live):
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
