"""The wire formats by name. Each one is a package with the functions of `Wire`."""

from scripted_model.wires import anthropic, chat, gemini, responses
from scripted_model.wires.wire import Wire

__all__ = ["WIRES"]

WIRES: dict[str, Wire] = {
    "anthropic": anthropic,
    "chat": chat,
    "gemini": gemini,
    "responses": responses,
}
