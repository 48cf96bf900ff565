"""No message is empty and no text is blank: providers refuse both."""

from sapwood.core.content import Text
from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request, ToolResult

__all__ = ["Substance"]


class Substance:
    """Every message and every block of the system prompt says something."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Empty messages, blank texts, results and blocks."""
        faults: list[str] = []
        for index, message in enumerate(request.messages):
            if not message.parts:
                faults.append(f"message {index} is empty")
            for part in message.parts:
                if type(part) is Text and not part.text.strip():
                    faults.append(f"message {index} holds a blank text")
                elif type(part) is ToolResult and not part.content.strip():
                    faults.append(f"message {index} holds an empty result")
        return faults + [
            f"the {block.kind} '{block.name}' is blank"
            for block in request.system
            if not block.text.strip()
        ]
