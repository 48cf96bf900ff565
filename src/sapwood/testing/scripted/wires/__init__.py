"""The wire formats, by name. Each is a folder with the same functions."""

from sapwood.testing.scripted.wires import anthropic, chat, gemini, responses
from sapwood.testing.scripted.wires.wire import Wire

__all__ = ["WIRES"]

WIRES: dict[str, Wire] = {
    "anthropic": anthropic,
    "chat": chat,
    "gemini": gemini,
    "responses": responses,
}
