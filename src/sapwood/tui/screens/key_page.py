"""The page that asks for another API key, where a provider rejected the present one."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from sapwood.config.api_keys import key_origins, keys_file, save_key
from sapwood.config.config_file import ConfigError
from sapwood.display.text import plain
from sapwood.tui.screens.modal_page import ModalPage


class KeyPage(ModalPage[str]):
    """Stores the key that is pasted, and returns it; None if the person closes the page.

    `why` is the sentence of the failure, `account` the provider whose key is asked for.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, account: str, title: str, why: str) -> None:
        super().__init__()
        self._account = account
        self._title = title
        self._why = why

    def compose(self) -> ComposeResult:
        """Yields the reason, the field, and where the key goes."""
        with self.frame("Another API key?", "enter stores it · esc closes"):
            yield Static(plain(self._why), id="asked", markup=False)
            yield Input(placeholder=f"Paste your API key for {self._title}", password=True)
            yield Static(self._where(), id="where", markup=False)

    def on_mount(self) -> None:
        """Focuses the field."""
        self.query_one(Input).focus()

    def _where(self) -> str:
        origin = key_origins().get(self._account, "")
        words = f"It is stored in {keys_file()}, readable only by you."
        if origin and origin != str(keys_file()):
            words += f" {origin} takes precedence again at the next start: change it there too."
        return words

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        key = event.value.strip()
        where = self.query_one("#where", Static)
        if not key:
            where.update("Paste an API key, or press esc.")
            return
        try:
            save_key(self._account, key)
        except ConfigError as error:
            where.update(plain(str(error)))
        else:
            self.dismiss(key)
