"""Converts the contents of Claude Code's messages."""

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.claude_code.rows import Block, Message
from sapwood.programs.transcripts.row_decoder import raw_text

Content = str | list[Block] | None


def parts_of(content: Content) -> list[ReplyPart]:
    """The parts of a reply: text, thinking and tool calls. Other blocks are skipped."""
    if isinstance(content, str):
        return [Text(content)]
    found: list[ReplyPart] = []
    for block in content or ():
        if block.type == "text" and block.text:
            found.append(Text(block.text))
        elif block.type == "thinking" and block.thinking:
            found.append(Thinking(block.thinking, "anthropic", block.signature or ""))
        elif block.type == "tool_use" and block.id:
            args = raw_text(block.input) or "{}"
            found.append(ToolCall(block.id, block.name or "", args))
    return found


def text_of(content: Content) -> str:
    """The text of a message or a result; a placeholder for an image."""
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(shown, content or ())))


def shown(block: Block) -> str:
    """The text of one block."""
    if block.text is not None:
        return block.text
    return f"[{block.type}]" if block.type in ("image", "document") else ""


def hash_of(message: Message | None) -> int:
    """A hash of what a message says, valid within one process."""
    content = message.content if message else None
    if not isinstance(content, list):
        return hash(content)
    return hash(tuple([_identity(block) for block in content]))


def _identity(block: Block) -> tuple[str | None, ...]:
    result = block.content if isinstance(block.content, str) else text_of(block.content)
    return block.type, block.id, block.text, block.thinking, block.tool_use_id, result


def usage_of(message: Message) -> Usage | None:
    """The usage that the provider reported; its input excludes cached tokens, so they are added."""
    reported = message.usage
    if reported is None:
        return None
    read, written = reported.cache_read_input_tokens or 0, reported.cache_creation_input_tokens or 0
    return Usage(
        input=(reported.input_tokens or 0) + read + written,
        output=reported.output_tokens or 0,
        cache_read=read,
        cache_write=written,
    )
