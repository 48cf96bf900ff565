"""Pins are in every request, whatever is trimmed."""

from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Request

__all__ = ["PinsInView"]


class PinsInView:
    """Each pin stands in the system prompt, word for word."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Pins that are not there."""
        shown = {(block.name, block.text) for block in request.system if block.kind == "pin"}
        return [
            f"pin '{pin.name}' is missing"
            for pin in state.pins
            if (pin.name, pin.text) not in shown
        ]
