"""What stands on the screen before the first message."""

from textual.content import Content

from sapwood.app.config import Config

__all__ = ["welcome"]


def welcome(config: Config, folder: str) -> Content:
    """An invitation."""
    model = config.model or "no model yet"
    keys = (
        ("enter", "sends what you type"),
        ("/", "lists the commands"),
        ("ctrl+l", "opens another conversation"),
        ("f1", "explains every key"),
    )
    return Content.assemble(
        ("Sapwood\n", "bold $primary"),
        ("Everything is kept; you decide what the model sees.\n\n", "$foreground"),
        (f"{model}  ·  {folder}\n\n", "$faint"),
        *(part for key, does in keys for part in ((f"  {key:<8}", "$accent"), (f"{does}\n", ""))),
    )
