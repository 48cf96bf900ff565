"""The list of models that `/model` opens."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.completion import model_names
from sapwood.tui.screens.picker_page import PickerItem, PickerPage


class ModelPage(PickerPage):
    """Lists the present model, models that are often wanted, and providers; returns the picked."""

    HEADING: ClassVar = "Model"
    FOOT: ClassVar = "enter uses it from the next prompt on · esc closes"
    HINT: ClassVar = "Type a name, also one that is not listed"

    def __init__(self, present: str) -> None:
        super().__init__()
        self._present = present

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The names that have what was typed, and last what was typed itself."""
        names = dict.fromkeys(filter(None, (self._present, *(name for name, _ in model_names()))))
        found = [name for name in names if typed.casefold() in name.casefold()]
        if typed.strip() and typed.strip() not in found:
            found.append(typed.strip())
        return [PickerItem(name, self._line(name)) for name in found]

    async def preview(self, id: str) -> Content:
        """What picking the line does."""
        if id.endswith(":"):
            title = dict(model_names()).get(id, "")
            return Content(f"A model of {title}: complete the name in the composer.")
        if id == self._present:
            return Content("The model of this conversation.")
        return Content(f"This conversation continues with {id}. What is in view stays.")

    def _line(self, name: str) -> Content:
        sign = ("● ", "$accent") if name == self._present else ("  ", "$faint")
        return Content.assemble(sign, name)
