"""Knows a request for a summary when it sees one. Pure.

Agents compact their context by asking the model for a summary, with the whole conversation before
it, scripts included. Such a request is answered with a summary and not with a step of a script.
"""

__all__ = ["SUMMARY", "is_summary_request", "summary_reply"]

SUMMARY = "SCRIPTED SUMMARY: what came before was a test."

_TAGGED = "<analysis>scripted</analysis>\n<summary>\n{}\n</summary>"
_SNAPSHOT = "<state_snapshot>{}</state_snapshot>"

# Words in the last thing that the user said, in lower case, and the form that the asker expects.
_FORMS: dict[str, str] = {
    "create a detailed summary of": _TAGGED,
    "summary of the conversation so far": _TAGGED,
    "compress our entire chat history": _SNAPSHOT,
    "<state_snapshot>": _SNAPSHOT,
    "context checkpoint compaction": "{}",
    "handoff summary for another llm": "{}",
    "provide a detailed prompt for continuing": "{}",
    "anchored summary": "{}",
    "summarize the conversation": "{}",
    "summarise the conversation": "{}",
    "summarise this conversation": "{}",
}


def is_summary_request(prompt: str, more: tuple[str, ...] = ()) -> bool:
    """Does the prompt ask for a summary of the conversation? `more` are further words to look for.

    >>> is_summary_request("Please summarise the conversation.")
    True
    """
    low = prompt.lower()
    return any(words.lower() in low for words in (*_FORMS, *more))


def summary_reply(prompt: str, summary: str) -> str:
    """The summary in the form that the prompt asks for."""
    low = prompt.lower()
    form = next((form for words, form in _FORMS.items() if words in low), "{}")
    return form.format(summary)
