"""What the user asked last is in view word for word, until a bare clear."""

from sapwood.core.content import Text
from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request

__all__ = ["LastRequest"]


class LastRequest:
    """The newest request of the live path, or the one carried in front of it, is verbatim there."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Words of the last request that are not there."""
        asked = next((t.prompt for t in reversed(live.all_turns) if t.is_request), live.request)
        said = [
            part.text
            for message in request.messages
            if message.role == "user"
            for part in message.parts
            if isinstance(part, Text)
        ]
        words = [part.text for part in asked if isinstance(part, Text)]
        return [f"not in view: {word[:40]!r}" for word in words if not any(word in s for s in said)]
