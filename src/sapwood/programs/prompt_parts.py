"""Parts of prompts for programs, which take text, and files of some types beside it."""

from sapwood.core.content import File, PromptPart

PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The types of pictures that the models of these programs see."""


def prompt_text(part: PromptPart) -> str:
    """The text of a part. A file is named; a file of text is given whole, too.

    >>> prompt_text(File.of(b"# Nests", name="notes.md"))
    '[file: notes.md, text/markdown, 7 bytes]\\n# Nests'
    """
    words = part.words if isinstance(part, File) else ""
    return f"{part.text}\n{words}" if words else part.text
