"""No message is empty and no text is blank: providers refuse both."""

from sapwood.core.content import Text
from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request, ToolResult

__all__ = ["Substance"]


class Substance:
    """Every message says something."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Empty messages and blank texts."""
        faults: list[str] = []
        for index, message in enumerate(request.messages):
            if not message.parts:
                faults.append(f"message {index} is empty")
            if any(isinstance(part, Text) and not part.text.strip() for part in message.parts):
                faults.append(f"message {index} holds a blank text")
            if any(isinstance(part, ToolResult) and not part.content for part in message.parts):
                faults.append(f"message {index} holds an empty result")
        return faults
