"""Full-text search: the text of an event that can be found, and its terms.

All stores index the same ASCII terms, which are made here, so that they find the same. In scripts
without spaces (Chinese, Japanese, Thai …) each character is a term, and a word is searched as a
phrase.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import assert_never

from sapwood.core import events
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall
from sapwood.core.events import Event, ReplyAdded, ReplyLost

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TERM = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_QUERY = re.compile(r'"([^"]+)"|(\S+)')
_SNIPPET = 160
_PIECE = 16_384
"""Characters that are cut into terms in one step."""
_BETWEEN_TERMS = re.compile(r"[\x00-/:-@\[-`{-\x7f]")


def text_of(event: Event) -> str:
    """All text of an event that a person, a model or a tool wrote."""
    match event:
        case events.TurnStarted():
            return "\n".join(part.text for part in event.prompt)
        case events.ReplyAdded() | events.ReplyLost():
            return _words(event)
        case events.TurnRecorded():
            texts = [part.text for part in event.prompt]
            texts += [_words(item) for item in event.items]
            return "\n".join(texts)
        case events.ToolFinished():
            return event.content
        case events.ContextSummarized():
            return event.text
        case events.ContextRewound():
            return event.note
        case events.PromptQueued():
            return event.text
        case events.MailSent() | events.MailReceived():
            return event.text
        case events.PinAdded():
            return f"{event.pin.name}\n{event.pin.text}"
        case events.AgentForked():
            return "\n".join(part.text for part in event.goal)
        case events.AgentStarted():
            return "\n".join([event.name, *(f"{pin.name}\n{pin.text}" for pin in event.pins)])
        case events.MarkSet() | events.AgentRenamed():
            return event.name
        case events.NoteDeclared():
            return event.text
        case events.SessionJudged():
            kept = (each.text for each in event.sentences if each.kind != "neither")
            return "\n".join(kept)
        case events.Focused() | events.Unfocused():
            return event.topic
        case events.TurnFailed():
            return event.error
        case (
            # These have no text that a reader would search for.
            events.AgentArchived()
            | events.AgentUnarchived()
            | events.AgentKilled()
            | events.AgentTagged()
            | events.SettingsChanged()
            | events.PinRemoved()
            | events.FileAdded()  # the prompt that has it is found
            | events.InstructionsRead()
            | events.TurnLeased()
            | events.ModelCalled()
            | events.CallReported()
            | events.QuestionAsked()
            | events.PromptUnqueued()
            | events.QuestionAnswered()
            | events.ReplyStreamed()
            | events.ToolStarted()
            | events.TurnCompleted()
            | events.TurnInterrupted()
            | events.ContextTrimmed()
            | events.SummaryDropped()
            | events.ContextLoaded()  # the turn itself is found
            | events.ContextReverted()
            | events.ContextUndone()
            | events.ContextRedone()
            | events.ResultsMasked()
            | events.ClearDeferred()
            | events.CheckpointMade()
            | events.CheckpointMissed()
            | events.RevertStarted()
            | events.MailRead()
            | events.WordsErased()
            | events.SessionAssumed()
            | events.NativeRecorded()
            | events.SessionDiffered()
            | events.UnreadableEvent()
        ):
            return ""
        case _:
            assert_never(event)


def _words(item: ReplyAdded | ReplyLost | RecordedReply | RecordedResult) -> str:
    if isinstance(item, RecordedResult):
        return item.content
    return "\n".join(
        f"{part.name} {part.args}" if isinstance(part, ToolCall) else part.text
        for part in item.parts
    )


def index_terms(text: str) -> str:
    """The text as ASCII terms with spaces between them, for an index.

    A long text is cut into pieces: one call for all of it would block every other thread.
    """
    pieces = [text] if len(text) <= _PIECE else _pieces(text)
    return " ".join(_ascii(term) for piece in pieces for term in _terms(piece))


def _pieces(text: str) -> Iterator[str]:
    """Cuts a text before ASCII characters that belong to no term, if there are any."""
    start = 0
    while start < len(text):
        cut = _BETWEEN_TERMS.search(text, start + _PIECE, start + 2 * _PIECE)
        end = cut.start() if cut else start + 2 * _PIECE
        yield text[start:end]
        start = end


def query_phrases(query: str) -> list[list[str]]:
    """The phrases of a query, all of which must be found; each is a list of terms in a row.

    >>> query_phrases('retry "token refresh" 数据')
    [['retry'], ['token', 'refresh'], ['u6570', 'u636e']]
    """
    words = (quoted or word for quoted, word in _QUERY.findall(query))
    phrases = ([_ascii(term) for term in _terms(word)] for word in words)
    return [phrase for phrase in phrases if phrase]


def snippet_of(text: str, query: str) -> str:
    """A line of the text around the first searched word that it contains."""
    flat = " ".join(text.split())
    words = [
        term for quoted, word in _QUERY.findall(query) for term in _TERM.findall(quoted or word)
    ]
    places = [flat.casefold().find(word.casefold()) for word in words]
    found = min((place for place in places if place >= 0), default=0)
    start = max(0, found - _SNIPPET // 3)
    end = start + _SNIPPET
    return f"{'…' if start else ''}{flat[start:end].strip()}{'…' if end < len(flat) else ''}"


def _terms(text: str) -> list[str]:
    """The words of a text; in scripts without spaces, its characters. Accents are normalized."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _TERM.findall(text)


def _ascii(term: str) -> str:
    folded = term.casefold()
    if folded.isascii():
        return folded
    return "".join(char if char.isascii() else f"u{ord(char):04x}" for char in folded)
