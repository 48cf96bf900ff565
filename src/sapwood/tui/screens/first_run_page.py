"""The first-run page: the person picks an agent program, or a model and enters its API key."""

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.content import Content
from textual.widgets import Input

from sapwood.config.api_keys import keys_file
from sapwood.config.config_file import Config, ConfigError
from sapwood.conversation.model_setup import EXAMPLE_SERVER, ModelOption, ModelSetup
from sapwood.programs.registry import runs_turns
from sapwood.tui.screens.modal_page import TESTING
from sapwood.tui.screens.picker_page import PickerItem, PickerPage

_OTHER = "other"
_SERVERS = (
    "For example Ollama, vLLM, LM Studio or llama.cpp on this machine. Sapwood will ask for its "
    "address and the name of a model."
)
_OTHER_API = (
    "For a server with the API of Anthropic, type in a shell: sapwood config set "
    "base_urls.anthropic ADDRESS"
)
_TEST = "test"
"""The group of the worker that tests a key."""


class FirstRunPage(PickerPage):
    """Saves the picked model and its API key; returns the name of the model."""

    HEADING: ClassVar = "Welcome to Sapwood"
    FOOT: ClassVar = "enter chooses · esc continues without a model"
    HINT: ClassVar = "Choose a model, or type the name of another one"

    said = ""
    """What the test of the key found, once the page has closed."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._setup = ModelSetup(config)
        self._model = ""
        self._asks = ""
        self._doubted = ""
        self._options: dict[str, ModelOption] = {}

    async def fill(self, typed: str) -> None:
        """Fills the list, unless the field is used for a key or an address."""
        if not self._asks:
            await super().fill(typed)

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The programs that are installed and logged in, then the models that match.

        Models with an API key come first.
        """
        if not self._options:
            found = await self._setup.options()
            self._options = {each.model: each for each in found if not each.problem}
        known = [each for each in self._options.values() if typed in each.model]
        found = [PickerItem(each.model, self._line(each)) for each in known]
        if typed and not found:
            found.append(PickerItem(typed, Content.assemble((typed, "bold"), "  as typed")))
        if not typed:
            words = "another OpenAI-compatible server"
            found.append(PickerItem(_OTHER, Content.styled(words, "$faint")))
        return found

    async def preview(self, id: str) -> Content:
        """What Sapwood does, and what this model needs."""
        words = [
            ("Everything is kept; you decide what the model sees.\n\n", "bold $primary"),
            ("Every conversation is saved in a file on your machine. ", ""),
            ("Set marks and return to them, clear, fork, undo: nothing is lost.\n\n", ""),
        ]
        title, option = self._setup.account(id).title, self._options.get(id)
        if id == _OTHER:
            words.append((_SERVERS, "$accent"))
        elif runs_turns(id):
            words.append((f"{title} runs the turns, using your own login. ", "$accent"))
            words.append(("Press enter and write your first message.", "$accent"))
        elif option is not None and option.is_ready:
            words.append((f"The API key is in {option.key_origin}. ", "$accent"))
            words.append(("Press enter and write your first message.", "$accent"))
        else:
            words.append((f"Sapwood will ask for an API key for {title}. ", "$accent"))
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
                f"Address and model, such as {EXAMPLE_SERVER} llama3.3",
                f"No API key needed. {_OTHER_API}",
            )
        elif self._setup.needs_key(id):
            self._ask(
                "key",
                f"Paste your API key for {self._setup.account(id).title}",
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
        if problem := self._setup.refusal(model):
            self._doubted = ""
            return problem
        doubt = self._setup.doubt(model)
        return f"{doubt} Press enter again to use it anyway." if doubt else ""

    def _ask(self, what: str, words: str, about: str, *, secret: bool = False) -> None:
        """Hides the list and asks for a text in the field."""
        self._asks = what
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = secret, words, ""
        self.query_one("#frame").border_subtitle = " enter continues · esc goes back to the models "
        self.query_one("#columns").display = False
        self.show_sentence(about)

    @work(exclusive=True, group=_TEST)
    async def _store_key(self, key: str) -> None:
        if not key:
            self.show_sentence("Enter an API key, or press esc to go back.")
            return
        self.show_sentence(TESTING)
        try:
            self.said = await self._setup.store_key(self._model, key)
            self.dismiss(self._setup.choose(self._model))
        except ConfigError as error:
            self.query_one(Input).value = ""
            self.show_sentence(f"{error} Paste another one, or press esc to go back.")

    def _store_address(self, typed: str) -> None:
        address, _, model = typed.partition(" ")
        try:
            self.dismiss(self._setup.choose_server(address, model))
        except ConfigError as error:
            self.show_sentence(str(error))

    def _done(self) -> None:
        try:
            self.dismiss(self._setup.choose(self._model))
        except ConfigError as error:
            self.show_sentence(str(error))

    def action_close(self) -> None:
        """Goes back to the list, or closes the page."""
        if not self._asks:
            super().action_close()
            return
        self.workers.cancel_group(self, _TEST)  # pyright: ignore[reportUnknownMemberType]
        self._asks = ""
        line = self.query_one(Input)
        line.password, line.placeholder, line.value = False, self.HINT, ""
        self.query_one("#frame").border_subtitle = f" {self.FOOT} "
        self._fill("")

    def _line(self, option: ModelOption) -> Content:
        found = "ready" if option.is_program else "API key found"
        ready = (f"  ✓ {found}", "$success") if option.is_ready else ("", "")
        title = option.account.title
        return Content.assemble((f"{option.model:<22}", "bold"), (title, "$faint"), ready)
