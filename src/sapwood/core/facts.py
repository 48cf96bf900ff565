"""The facts that lists show of an agent, derived from its state."""

from sapwood.core.counting import Count
from sapwood.core.log import Facts
from sapwood.core.state import State

__all__ = ["facts_of"]


def facts_of(state: State, history: Count) -> Facts:
    """What a list shows of this agent, given the size of its live history."""
    return Facts(
        agent=state.agent,
        version=state.version,
        status="running" if state.status == "none" else state.status,
        name=state.name,
        parent=state.parent,
        model=state.settings.model,
        folder=state.workspace.folder,
        created=state.created,
        updated=state.updated,
        tokens=history.tokens,
        exact=history.exact,
        unread=len(state.inbox),
        working=state.open is not None and state.status == "running",
        source=state.origin.source if state.origin else "",
        session=state.origin.session if state.origin else "",
    )
