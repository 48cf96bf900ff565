"""Texts for programs: the parts of a prompt, and a summary that a program wrote itself.

Sapwood shows such a summary in a frame, masked, with the messages that the program kept as
quotations. In the session the program's own text is used, so that an undo gives the former request.
"""

from sapwood.core.content import File, PromptPart
from sapwood.core.view.frames import escaped
from sapwood.redaction import mask_secrets

PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The types of pictures that the models of these programs see."""


def prompt_text(part: PromptPart) -> str:
    """The text of a part. A file is named; a file of text is given whole, too.

    >>> prompt_text(File.of(b"# Nests", name="notes.md"))
    '[file: notes.md, text/markdown, 7 bytes]\\n# Nests'
    """
    words = part.words if isinstance(part, File) else ""
    return f"{part.text}\n{words}" if words else part.text


def shows(shown: str, text: str) -> bool:
    """Whether a text in front of a history shows this text of the program.

    >>> shows("[Summary of the conversation]\\nIt is  cold.", "It is cold.")
    True
    """
    found = _squeezed(shown)
    return _squeezed(text) in found or _squeezed(escaped(mask_secrets(text))) in found


def _squeezed(text: str) -> str:
    return " ".join(text.split())
