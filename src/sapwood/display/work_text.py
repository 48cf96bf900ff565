"""What an agent works on, as a person reads it: its to-do list."""

from sapwood.core.events import TodoItem
from sapwood.display.text import one_line

TODO_SIGNS = {"done": "✓", "active": "◐", "open": "○"}


def todo_line(items: tuple[TodoItem, ...]) -> str:
    """The to-do list on one line: how far it is, and what is being done.

    >>> todo_line((TodoItem("Read", "done"), TodoItem("Write", "active"), TodoItem("Test")))
    'to do 1 of 3  ✓ ◐ ○  Write'
    """
    done = sum(item.status == "done" for item in items)
    signs = " ".join(TODO_SIGNS[item.status] for item in items)
    active = [item for item in items if item.status == "active"]
    waiting = [item for item in items if item.status == "open"]
    now = next((one_line(item.text) for item in (*active, *waiting)), "")
    return f"to do {done} of {len(items)}  {signs}  {now}"
