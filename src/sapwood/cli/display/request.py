"""A request as people read it: every block and message that the model was sent."""

import click

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.display.text import indented

__all__ = ["request_lines"]


def request_lines(request: Request) -> list[str]:
    """The request, whole."""
    lines: list[str] = []
    for block in request.system:
        name = f"pin {block.name}" if block.kind == "pin" else "system"
        lines += [click.style(name, bold=True), *indented(block.text, "  "), ""]
    for message in request.messages:
        lines.append(click.style(message.role, bold=True))
        for part in message.parts:
            lines += _part(part)
        lines.append("")
    return lines[:-1]


def _part(part: MessagePart) -> list[str]:
    match part:
        case Text(text):
            return indented(text, "  ")
        case Thinking(text):
            return [click.style(line, dim=True) for line in indented(text, "  ~ ")]
        case ToolCall(id_, name, args):
            return indented(f"→ {name} {args} [{id_}]", "  ")
        case ToolResult(call, name, content, error):
            head = f"  ← {name} [{call}]{' failed' if error else ''}"
            return [head, *indented(content, "    ")]
