"""The first run: a model is chosen and its key stored, then everything else can begin."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from sapwood.app.choosing import access_to
from sapwood.app.config import Config, ConfigError
from sapwood.app.configuring import set_setting
from sapwood.app.keys import key_origins, keys_file, save_key
from sapwood.conversation.completion import MODELS
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["FirstRunPage"]

_OTHER = "other"


class FirstRunPage(Picker):
    """Gives the name of the model that was chosen, ready to be asked."""

    HEADING: ClassVar = "Welcome to Sapwood"
    FOOT: ClassVar = "enter chooses · esc looks around without a model"
    HINT: ClassVar = "Choose a model, or type the name of any other"

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self._model = ""
        self._asks = ""

    async def fill(self, typed: str) -> None:
        """While something is asked for, what is typed is the answer."""
        if not self._asks:
            await super().fill(typed)

    async def items(self, typed: str) -> Sequence[Item]:
        """Models whose key is there come first."""
        origins = key_origins()
        known = sorted(MODELS, key=lambda name: self._account(name) not in origins)
        found = [Item(name, self._line(name, origins)) for name in known if typed in name]
        if typed and not found:
            found.append(Item(typed, Content.assemble((typed, "bold"), "  as typed")))
        if not typed:
            words = "another server that speaks OpenAI's format, such as one on this machine"
            found.append(Item(_OTHER, Content.styled(words, "$faint")))
        return found

    async def preview(self, id: str) -> Content:
        """What Sapwood is, and what choosing this needs."""
        words = [
            ("Everything is kept; you decide what the model sees.\n\n", "bold $primary"),
            ("Every conversation is a log in a file of yours. ", ""),
            ("Mark a place and come back to it, clear, fork, undo: nothing is ever lost.\n\n", ""),
        ]
        if id == _OTHER:
            words.append(("You will be asked for its address and the name of a model.", "$accent"))
        elif self._account(id) in key_origins():
            words.append((f"The key is in {key_origins()[self._account(id)]}. ", "$accent"))
            words.append(("Press enter, and write your first message.", "$accent"))
        else:
            words.append((f"You will be asked for a key of {self._title(id)}. ", "$accent"))
            words.append((f"It is stored in {keys_file()}, readable by you alone.", "$accent"))
        return Content.assemble(*words)

    def pick(self, id: str | None) -> None:
        """Takes a model, then whatever is missing for it."""
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
        self._model = id
        if id == _OTHER:
            self._ask(
                "address",
                "Address and model, such as http://localhost:11434/v1 llama3.3",
                "It needs no key. Ollama, vLLM, LM Studio and llama.cpp speak this format.",
            )
        elif self._needs_key(id):
            self._ask(
                "key",
                f"Paste your key of {self._title(id)}",
                f"{id} is asked with it. It is stored in {keys_file()}, readable by you alone.",
                secret=True,
            )
        else:
            self._done()

    def _ask(self, what: str, words: str, about: str, *, secret: bool = False) -> None:
        """The list gives way to a question."""
        self._asks = what
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = secret, words, ""
        self.query_one("#frame").border_subtitle = " enter goes on · esc goes back to the models "
        self.query_one("#columns").display = False
        self.say(about)

    def _store_key(self, key: str) -> None:
        if not key:
            self.say("A key is needed, or esc to go back.")
            return
        try:
            save_key(self._account(self._model), key)
        except ConfigError as error:
            self.say(str(error))
        else:
            self._done()

    def _store_address(self, typed: str) -> None:
        address, _, model = typed.partition(" ")
        if not address.startswith("http") or not model.strip():
            self.say("Both are needed: an address, a space, and the name of a model.")
            return
        self._model = f"compatible:{model.strip()}"
        try:
            set_setting("base_urls.compatible", address)
        except ConfigError as error:
            self.say(str(error))
        else:
            self._done()

    def _done(self) -> None:
        try:
            set_setting("model", self._model)
        except ConfigError as error:
            self.say(str(error))
        else:
            self.dismiss(self._model)

    def action_close(self) -> None:
        """Back to the list, else out."""
        if not self._asks:
            super().action_close()
            return
        self._asks = ""
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = False, self.HINT, ""
        self.query_one("#frame").border_subtitle = f" {self.FOOT} "
        self._fill("")

    def _needs_key(self, model: str) -> bool:
        access = access_to(model, self._config)
        return access.needs_key and access.account not in key_origins()

    def _account(self, model: str) -> str:
        return access_to(model, self._config).account

    def _title(self, model: str) -> str:
        return access_to(model, self._config).title

    def _line(self, name: str, origins: dict[str, str]) -> Content:
        account = self._account(name)
        ready = ("  ✓ key found", "$success") if account in origins else ("", "")
        return Content.assemble((f"{name:<22}", "bold"), (self._title(name), "$faint"), ready)
