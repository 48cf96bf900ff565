"""Search: which words of an event can be found, and how they are cut into terms.

Both databases index plain ASCII terms that are made here, so that they find the same. Scripts
written without spaces (Chinese, Japanese, Thai …) become one term a character, searched as a
phrase.
"""

import re
import unicodedata
from typing import assert_never

from sapwood.core import events
from sapwood.core.content import Got, Said, ToolCall
from sapwood.core.events import Event, ReplyAdded

__all__ = ["index_terms", "query_phrases", "snippet_of", "text_of"]

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TERM = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_QUERY = re.compile(r'"([^"]+)"|(\S+)')
_SNIPPET = 160


def text_of(event: Event) -> str:
    """Everything in an event that somebody said, wrote or got back."""
    match event:
        case events.TurnStarted():
            return "\n".join(part.text for part in event.prompt)
        case events.ReplyAdded():
            return _words(event)
        case events.TurnRecorded():
            said = [part.text for part in event.prompt]
            said += [_words(item) for item in event.items]
            return "\n".join(said)
        case events.ToolFinished():
            return event.content
        case events.ContextSummarized():
            return event.text
        case events.ContextRewound():
            return event.note
        case events.MailSent() | events.MailReceived():
            return event.text
        case events.PinAdded():
            return f"{event.pin.name}\n{event.pin.text}"
        case events.AgentForked():
            return "\n".join(part.text for part in event.goal)
        case events.AgentStarted():
            return "\n".join([event.name, *(f"{pin.name}\n{pin.text}" for pin in event.pins)])
        case events.MarkSet():
            return event.name
        case events.Focused() | events.Unfocused():
            return event.topic
        case events.TurnFailed():
            return event.error
        case (
            # Nobody wrote any of these to be found again.
            events.AgentArchived()
            | events.AgentKilled()
            | events.SettingsChanged()
            | events.PinRemoved()
            | events.ModelCalled()
            | events.ToolStarted()
            | events.TurnCompleted()
            | events.TurnInterrupted()
            | events.ContextTrimmed()
            | events.SummaryDropped()
            | events.ContextReverted()
            | events.ContextUndone()
            | events.ContextRedone()
            | events.ResultsMasked()
            | events.ClearDeferred()
            | events.CheckpointMade()
            | events.CheckpointMissed()
            | events.RevertStarted()
            | events.MailRead()
        ):
            return ""
        case _:
            assert_never(event)


def _words(item: ReplyAdded | Said | Got) -> str:
    if isinstance(item, Got):
        return item.content
    return "\n".join(
        f"{part.name} {part.args}" if isinstance(part, ToolCall) else part.text
        for part in item.parts
    )


def index_terms(text: str) -> str:
    """The text as ASCII terms separated by spaces, as an index takes them."""
    return " ".join(_ascii(term) for term in _terms(text))


def query_phrases(query: str) -> list[list[str]]:
    """The phrases that must all be found, each a list of terms in a row.

    >>> query_phrases('retry "token refresh" 数据')
    [['retry'], ['token', 'refresh'], ['u6570', 'u636e']]
    """
    words = (quoted or word for quoted, word in _QUERY.findall(query))
    phrases = ([_ascii(term) for term in _terms(word)] for word in words)
    return [phrase for phrase in phrases if phrase]


def snippet_of(text: str, query: str) -> str:
    """A line of the text around the first word that was searched for."""
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
    """Words, one character a word where a script has no spaces. However an accent was typed."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _TERM.findall(text)


def _ascii(term: str) -> str:
    folded = term.casefold()
    if folded.isascii():
        return folded
    return "".join(char if char.isascii() else f"u{ord(char):04x}" for char in folded)
