"""The first-run page: the person picks an agent program, or a model and enters its API key."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from sapwood.config.api_keys import key_origins, keys_file, save_key
from sapwood.config.config_file import Config, ConfigError
from sapwood.config.editor import set_setting
from sapwood.conversation.completion import MODELS
from sapwood.conversation.configured_models import (
    model_account,
    model_doubt,
    model_problem,
    ready_programs,
)
from sapwood.programs.registry import runs_turns
from sapwood.tui.screens.picker_page import PickerItem, PickerPage

_OTHER = "other"


class FirstRunPage(PickerPage):
    """Saves the picked model and its API key; returns the name of the model."""

    HEADING: ClassVar = "Welcome to Sapwood"
    FOOT: ClassVar = "enter chooses · esc continues without a model"
    HINT: ClassVar = "Choose a model, or type the name of another one"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self._model = ""
        self._asks = ""
        self._doubted = ""
        self._ready: frozenset[str] | None = None

    async def fill(self, typed: str) -> None:
        """Fills the list, unless the field is used for a key or an address."""
        if not self._asks:
            await super().fill(typed)

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The programs that are installed and logged in, then the models that match.

        Models with an API key come first.
        """
        origins = key_origins()
        if self._ready is None:
            self._ready = await asyncio.to_thread(ready_programs)
        origins |= dict.fromkeys(self._ready, "")
        usable = [name for name in MODELS if not runs_turns(name) or name in self._ready]
        known = sorted(usable, key=lambda name: self._account(name) not in origins)
        found = [PickerItem(name, self._line(name, origins)) for name in known if typed in name]
        if typed and not found:
            found.append(PickerItem(typed, Content.assemble((typed, "bold"), "  as typed")))
        if not typed:
            words = "another OpenAI-compatible server, for example on this machine"
            found.append(PickerItem(_OTHER, Content.styled(words, "$faint")))
        return found

    async def preview(self, id: str) -> Content:
        """What Sapwood does, and what this model needs."""
        words = [
            ("Everything is kept; you decide what the model sees.\n\n", "bold $primary"),
            ("Every conversation is saved in a file on your machine. ", ""),
            ("Set marks and return to them, clear, fork, undo: nothing is lost.\n\n", ""),
        ]
        if id == _OTHER:
            words.append(("Sapwood will ask for its address and the name of a model.", "$accent"))
        elif runs_turns(id):
            words.append((f"{self._title(id)} runs the turns, using your own login. ", "$accent"))
            words.append(("Press enter and write your first message.", "$accent"))
        elif self._account(id) in key_origins():
            words.append((f"The API key is in {key_origins()[self._account(id)]}. ", "$accent"))
            words.append(("Press enter and write your first message.", "$accent"))
        else:
            words.append((f"Sapwood will ask for an API key for {self._title(id)}. ", "$accent"))
            words.append((f"It is stored in {keys_file()}, readable only by you.", "$accent"))
        return Content.assemble(*words)

    def pick(self, id: str | None) -> None:
        """Picks a model, or saves the key or address that was asked for."""
        typed = self.query_one(Input).value.strip()
        match self._asks:
            case "":
                self._choose(id)
            case "key":
                self._store_key(typed)
            case _:
                self._store_address(typed)

    def _choose(self, id: str | None) -> None:
        if id is None:
            return
        if id != _OTHER and (doubt := self._doubt(id)) and id != self._doubted:
            self._doubted = id
            self.show_sentence(doubt)
            return
        self._model = id
        if id == _OTHER:
            self._ask(
                "address",
                "Address and model, such as http://localhost:11434/v1 llama3.3",
                "No API key needed. Ollama, vLLM, LM Studio and llama.cpp offer this API.",
            )
        elif self._needs_key(id):
            self._ask(
                "key",
                f"Paste your API key for {self._title(id)}",
                (
                    f"Sapwood uses it to call {id} and stores it in {keys_file()}, readable only "
                    "by you."
                ),
                secret=True,
            )
        else:
            self._done()

    def _doubt(self, model: str) -> str:
        """Why a model may be mistyped. Picking it once more uses it, if a provider can have it."""
        if problem := model_problem(model, self._config):
            self._doubted = ""
            return problem
        if doubt := model_doubt(model, self._config):
            return doubt.partition(" To use it")[0] + " Press enter again to use it anyway."
        return ""

    def _ask(self, what: str, words: str, about: str, *, secret: bool = False) -> None:
        """Hides the list and asks for a text in the field."""
        self._asks = what
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = secret, words, ""
        self.query_one("#frame").border_subtitle = " enter continues · esc goes back to the models "
        self.query_one("#columns").display = False
        self.show_sentence(about)

    def _store_key(self, key: str) -> None:
        if not key:
            self.show_sentence("Enter an API key, or press esc to go back.")
            return
        try:
            save_key(self._account(self._model), key)
        except ConfigError as error:
            self.show_sentence(str(error))
        else:
            self._done()

    def _store_address(self, typed: str) -> None:
        address, _, model = typed.partition(" ")
        if not address.startswith("http") or not model.strip():
            self.show_sentence("Enter an address, a space, and the name of a model.")
            return
        self._model = f"compatible:{model.strip()}"
        try:
            set_setting("base_urls.compatible", address)
        except ConfigError as error:
            self.show_sentence(str(error))
        else:
            self._done()

    def _done(self) -> None:
        try:
            set_setting("model", self._model)
        except ConfigError as error:
            self.show_sentence(str(error))
        else:
            self.dismiss(self._model)

    def action_close(self) -> None:
        """Goes back to the list, or closes the page."""
        if not self._asks:
            super().action_close()
            return
        self._asks = ""
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = False, self.HINT, ""
        self.query_one("#frame").border_subtitle = f" {self.FOOT} "
        self._fill("")

    def _needs_key(self, model: str) -> bool:
        access = model_account(model, self._config)
        return access.needs_key and access.account not in key_origins()

    def _account(self, model: str) -> str:
        return model_account(model, self._config).account

    def _title(self, model: str) -> str:
        return model_account(model, self._config).title

    def _line(self, name: str, origins: dict[str, str]) -> Content:
        account = self._account(name)
        found = "ready" if runs_turns(name) else "API key found"
        ready = (f"  ✓ {found}", "$success") if account in origins else ("", "")
        return Content.assemble((f"{name:<22}", "bold"), (self._title(name), "$faint"), ready)
