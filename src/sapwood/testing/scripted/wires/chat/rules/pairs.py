"""Every tool call is answered by tool messages right after it, and nothing else is."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import objects_at, text_at
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["pair_violations"]


def pair_violations(post: Post) -> Iterator[Violation]:
    """What is wrong between calls and results."""
    open_calls: list[str] = []
    answered: dict[str, int] = {}
    messages = objects_at(post.body, "messages")
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            call = text_at(message, "tool_call_id")
            yield from _stray_violations(call, index, open_calls, answered)
            answered[call] = index
            continue
        yield from _unanswered_violations(open_calls, answered, index)
        open_calls = [text_at(call, "id") for call in objects_at(message, "tool_calls")]
        answered = {}
    yield from _unanswered_violations(open_calls, answered, len(messages))


def _stray_violations(
    call: str, index: int, open_calls: list[str], answered: dict[str, int]
) -> Iterator[Violation]:
    if not open_calls:
        yield Violation(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
            f"messages.[{index}].role",
        )
    elif call in answered:
        yield Violation(
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in "
            f"messages[{answered[call]}] and messages[{index}].",
            f"messages.[{index}].tool_call_id",
        )
    elif call not in open_calls:
        yield Violation(
            f"Invalid parameter: 'tool_call_id' of '{call}' not found in 'tool_calls' of previous "
            "message.",
            f"messages.[{index}].tool_call_id",
        )


def _unanswered_violations(
    open_calls: list[str], answered: dict[str, int], index: int
) -> Iterator[Violation]:
    missing = [call for call in open_calls if call not in answered]
    if missing:
        yield Violation(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(missing)}",
            f"messages.[{index}].role",
        )
