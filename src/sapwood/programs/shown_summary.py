"""Recognises a summary that a program wrote itself in the text that Sapwood shows of it.

Sapwood shows such a summary in a frame, masked, with the messages that the program kept as
quotations. In the session the program's own text is used, so that an undo gives the former request.
"""

from sapwood.core.view.frames import escaped
from sapwood.redaction import mask_secrets


def shows(shown: str, text: str) -> bool:
    """Whether a text in front of a history shows this text of the program.

    >>> shows("[Summary of the conversation]\\nIt is  cold.", "It is cold.")
    True
    """
    found = _squeezed(shown)
    return _squeezed(text) in found or _squeezed(escaped(mask_secrets(text))) in found


def _squeezed(text: str) -> str:
    return " ".join(text.split())
