"""Small talk: turns in which nobody works and nothing is said about work."""

from sapwood.garden.topics.features import TurnFeatures

__all__ = ["is_noise"]

_ENOUGH = 2
_LONG_REPLY = 25
_STRANGE = 0.15


def is_noise(turn: TurnFeatures, covered: float) -> bool:
    """Whether a turn is small talk. `covered` is the share of its words that others have too.

    It takes signs of chatting or of life outside of work, no tool call, and little else said.
    """
    if turn.tools:
        return False
    signs = (
        2 * turn.chatty
        + min(3, turn.everyday)
        + (covered < _STRANGE)
        - turn.refers * (1 + (turn.rest > 0))
        - 2 * (turn.reply_words > _LONG_REPLY)
        - (turn.rest > 2)
        - (turn.rest > 4)
        - turn.technical
    )
    return signs >= _ENOUGH
