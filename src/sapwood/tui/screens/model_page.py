"""The list of models that `/model` opens."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.completion import model_names
from sapwood.conversation.model_setup import ModelSetup
from sapwood.tui.screens.picker_page import PickerItem, PickerPage


class ModelPage(PickerPage):
    """Lists the present model, models that are often wanted, and providers; returns the picked.

    Programs that cannot be used now are left out: they are not installed, or not logged in.
    """

    HEADING: ClassVar = "Model"
    FOOT: ClassVar = "enter uses it from the next prompt on · esc closes"
    HINT: ClassVar = "Type a name, also one that is not listed"

    def __init__(self, present: str, setup: ModelSetup) -> None:
        super().__init__()
        self._present = present
        self._setup = setup
        self._missing: frozenset[str] | None = None

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The names that have what was typed, and last what was typed itself."""
        if self._missing is None:
            options = await self._setup.options()
            self._missing = frozenset(each.model for each in options if each.problem)
        listed = (name for name, _ in model_names() if name not in self._missing)
        names = dict.fromkeys(filter(None, (self._present, *listed)))
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
