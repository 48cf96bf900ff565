"""The contents of Claude Code's messages in Sapwood's words."""

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.sources.claude.rows import Block, Message
from sapwood.sources.decoding import raw_text

__all__ = ["hash_of", "parts_of", "shown", "text_of", "usage_of"]

Content = str | list[Block] | None


def parts_of(content: Content) -> list[ReplyPart]:
    """What a model said: text, thinking and tool calls. Anything else is passed over."""
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
    """The text of a message or of a result; of a picture, that there is one."""
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(shown, content or ())))


def shown(block: Block) -> str:
    """The text of one block."""
    if block.text is not None:
        return block.text
    return f"[{block.type}]" if block.type in ("image", "document") else ""


def hash_of(message: Message | None) -> int:
    """Tells what one message says from what another does, within one run of the program."""
    content = message.content if message else None
    if not isinstance(content, list):
        return hash(content)
    return hash(tuple([_identity(block) for block in content]))


def _identity(block: Block) -> tuple[str | None, ...]:
    result = block.content if isinstance(block.content, str) else text_of(block.content)
    return block.type, block.id, block.text, block.thinking, block.tool_use_id, result


def usage_of(message: Message) -> Usage | None:
    """What the provider reported; its input counts only what was not cached."""
    told = message.usage
    if told is None:
        return None
    read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
    return Usage(
        input=(told.input_tokens or 0) + read + written,
        output=told.output_tokens or 0,
        cache_read=read,
        cache_write=written,
    )
