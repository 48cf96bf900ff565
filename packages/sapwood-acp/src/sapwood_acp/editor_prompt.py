"""What a person sent from an editor: the blocks of a prompt as a script of commands and text."""

import base64
from collections.abc import Sequence
from urllib.parse import unquote

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from sapwood.conversation.script import Script, TextStep, parse, with_files
from sapwood.core.content import File
from sapwood.core.refusals import Refusal

ContentBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


class UnsupportedBlock(Exception):
    """A prompt holds something that Sapwood does not take, such as a file that is no base64."""


def prompt_script(blocks: Sequence[ContentBlock]) -> Script | Refusal:
    """The steps of a prompt. Only what was typed can be a command; what is attached cannot.

    Raises `UnsupportedBlock`.
    """
    typed: list[str] = []
    attached: list[str] = []
    files: list[File] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                typed.append(text)
            case ResourceContentBlock(uri=uri):
                typed.append(_path(uri))
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                attached.append(f"{_path(uri)}:\n```\n{text}\n```")
            case EmbeddedResourceContentBlock(resource=BlobResourceContents() as blob):
                files.append(_file(blob.blob, blob.mime_type, blob.uri))
            case ImageContentBlock(data=data, mime_type=kind, uri=uri):
                files.append(_file(data, kind, uri))
            case AudioContentBlock(data=data, mime_type=kind):
                files.append(_file(data, kind))
            case _:
                raise UnsupportedBlock(f"Blocks of type '{block.type}' cannot be sent.")
    script = parse("".join(typed))
    if isinstance(script, Refusal):
        return script
    if attached:
        script = _with_text(script, "\n\n".join(attached))
    if not files:
        return script
    whole = with_files(script, tuple(files))
    if whole is None:
        raise UnsupportedBlock("A command takes no files. Send them with a prompt.")
    return whole


def _with_text(script: Script, text: str) -> Script:
    """The script with a text after its last prompt, or as its last prompt."""
    if script and isinstance(last := script[-1], TextStep) and not last.goal:
        return (*script[:-1], TextStep(f"{last.text}\n\n{text}"))
    return (*script, TextStep(text))


def _file(data: str, media_type: str | None, uri: str | None = None) -> File:
    name = _path(uri or "").rpartition("/")[2]
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        raise UnsupportedBlock(
            f"{name or 'The file'} cannot be sent: it is not valid base64."
        ) from None
    return File.of(content, name=name, media_type=media_type or "")


def _path(uri: str) -> str:
    return unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri
