"""What a person sent from an editor: the blocks of a prompt as a script of commands and text."""

from collections.abc import Sequence

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from sapwood.conversation.script import Script, TextStep, parse
from sapwood.core.refusals import Refusal

__all__ = ["ContentBlock", "UnsupportedBlock", "prompt_script"]

ContentBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


class UnsupportedBlock(Exception):
    """A prompt holds something that Sapwood does not take, such as sound."""


def prompt_script(blocks: Sequence[ContentBlock]) -> Script | Refusal:
    """The steps of a prompt. Only what was typed can be a command; what is attached is text.

    Raises `UnsupportedBlock`.
    """
    typed: list[str] = []
    attached: list[str] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                typed.append(text)
            case ResourceContentBlock(uri=uri):
                typed.append(_path(uri))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                attached.append(f"{_path(uri)}:\n```\n{text}\n```")
            case _:
                raise UnsupportedBlock(
                    f"A block of the kind '{block.type}' cannot be sent yet. Send text, or the "
                    "path of a file."
                )
    script = parse("".join(typed))
    if isinstance(script, Refusal) or not attached:
        return script
    text = "\n\n".join(attached)
    if script and isinstance(last := script[-1], TextStep) and not last.goal:
        return (*script[:-1], TextStep(f"{last.text}\n\n{text}"))
    return (*script, TextStep(text))


def _path(uri: str) -> str:
    return uri.removeprefix("file://")
