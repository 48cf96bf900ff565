"""The pages of `/settings` and `/model`: settings with values and origins, and models."""

import os
from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from sapwood.config.config_file import Config, ConfigError, config_file
from sapwood.config.editor import Setting, list_settings, set_setting, setting_help, shown_value
from sapwood.conversation.completion import model_names
from sapwood.conversation.configured_models import setting_problem
from sapwood.conversation.model_setup import ModelSetup
from sapwood.tui.screens.picker_page import PickerItem, PickerPage


class SettingsPage(PickerPage):
    """Lists the settings. Picking one asks for its new value and writes it to the file."""

    HEADING: ClassVar = "Settings"
    FOOT: ClassVar = "enter changes · esc closes"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self._changing = ""

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The settings that match, in the order of the configuration."""
        return [
            PickerItem(each.name, self._line(each))
            for each in list_settings()
            if typed in each.name
        ]

    async def preview(self, id: str) -> Content:
        """The value of a setting, its origin, and how to change it."""
        found = next(each for each in list_settings() if each.name == id)
        origin = f"from {found.origin}" if found.origin else "the default"
        return Content.assemble(
            (found.name, "bold $accent"),
            f"\n{setting_help(found.name)}",
            f"\n\n{shown_value(found, self._config) or '(nothing)'}\n",
            (f"{origin}\n\n", "$faint"),
            "Press enter, then type a new value.\n",
            (f"The file is {config_file(os.environ)}\n", "$faint"),
            ("For this agent only, type: /config NAME VALUE", "$faint"),
        )

    def pick(self, id: str | None) -> None:
        """Asks for a new value, or saves the one that was typed."""
        if self._changing:
            self._change(self._changing, self.query_one("#filter", Input).value)
        elif id is not None:
            self._ask_value(id)

    def _ask_value(self, name: str) -> None:
        """Hides the list and shows the present value in the field: what is typed replaces it."""
        self._changing = name
        found = next(each for each in list_settings() if each.name == name)
        is_public = found.typed == shown_value(found, self._config)
        line = self.query_one("#filter", Input)
        line.value = found.typed if is_public else ""
        line.placeholder = "Type the new value"
        line.action_select_all()
        self.query_one("#frame").border_subtitle = " enter stores it · esc goes back "
        self.query_one("#columns").display = False
        self.show_sentence(f"New value for {name}. {setting_help(name)}")

    def _list_again(self) -> None:
        self._changing = ""
        line = self.query_one("#filter", Input)
        line.value, line.placeholder = "", self.HINT
        self.query_one("#frame").border_subtitle = f" {self.FOOT} "
        self._fill("")

    def _change(self, name: str, value: str) -> None:
        try:
            changed = set_setting(name, value)
        except ConfigError as error:
            self.show_sentence(str(error))
            return
        self._list_again()
        words = f"{changed.name} = {value.strip()}. It takes effect at the next start."
        if problem := setting_problem(name, value.strip(), self._config):
            words = f"{changed.name} is stored, but: {problem}"
        self.notify(words, markup=False, severity="warning" if problem else "information")

    async def fill(self, typed: str) -> None:
        """Fills the list, unless the field is used for a value."""
        if not self._changing:
            await super().fill(typed)

    def action_close(self) -> None:
        """Stops changing a value, or closes the page."""
        if self._changing:
            self._list_again()
        else:
            super().action_close()

    def _line(self, setting: Setting) -> Content:
        colour = "$foreground" if setting.origin else "$faint"
        return Content.assemble(
            (f"{setting.name:<26}", "$accent"), (shown_value(setting, self._config), colour)
        )


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
