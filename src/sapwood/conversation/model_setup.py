"""Chooses the model of new conversations and stores what it needs: an API key or an address.

The first-run page of the terminal and the setup page of the server use it.
"""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sapwood.config.api_keys import key_origins, load_keys, save_key
from sapwood.config.config_file import Config, ConfigError
from sapwood.config.editor import set_setting
from sapwood.conversation.configured_models import (
    KNOWN_MODELS,
    ModelAccount,
    model_account,
    model_doubt,
    model_problem,
    require_model,
)
from sapwood.core.model_calls import Failure
from sapwood.core.plural import counted
from sapwood.models.model_routes import resolve
from sapwood.programs.registry import runs_turns

EXAMPLE_SERVER = "http://localhost:11434/v1"
"""The address of a server on this machine, as an example."""


class ModelOption(Struct, frozen=True):
    """A model or an agent program that can be chosen.

    `key_origin` is the variable or the file that has the API key; empty if there is none.
    `problem` is why a program cannot be used now, with what to type.
    """

    model: str
    account: ModelAccount
    is_program: bool = False
    key_origin: str = ""
    problem: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether it can be used without an API key to be typed."""
        if self.is_program:
            return not self.problem
        return bool(self.key_origin) or not self.account.needs_key


class ModelSetup:
    """What can be chosen with this configuration, and what stores the choice."""

    def __init__(self, config: Config) -> None:
        self._config = config

    async def options(self) -> Sequence[ModelOption]:
        """The programs and the models that are often wanted, those that are ready first.

        A program that is not ready has a `problem`: it is not installed, or not logged in.
        """
        origins = key_origins()
        found = await asyncio.gather(
            *(asyncio.to_thread(self._option, name, origins) for name in KNOWN_MODELS)
        )
        return sorted(found, key=lambda each: not each.is_ready)

    def _option(self, model: str, origins: Mapping[str, str]) -> ModelOption:
        account = model_account(model, self._config)
        if not runs_turns(model):
            return ModelOption(model, account, key_origin=origins.get(account.account, ""))
        return ModelOption(model, account, is_program=True, problem=self._problem(model, {}))

    def account(self, model: str) -> ModelAccount:
        """The account of a model, with an empty name if no provider has it."""
        return model_account(model, self._config)

    async def problem(self, keys: Mapping[str, str]) -> str:
        """Returns why the configured model cannot be called; empty if it can."""
        return await asyncio.to_thread(self._problem, self._config.model, keys)

    async def program_problem(self, model: str) -> str:
        """Returns why an agent program cannot be used now; empty if it can, and for a model."""
        return await asyncio.to_thread(self._problem, model, {}) if runs_turns(model) else ""

    def _problem(self, model: str, keys: Mapping[str, str]) -> str:
        try:
            require_model(model, self._config, keys)
        except Failure as failure:
            return str(failure)
        return ""

    def doubt(self, model: str) -> str:
        """Returns why a model may be mistyped; empty if it is not."""
        return model_doubt(model, self._config).partition(" To use it")[0]

    def refusal(self, model: str) -> str:
        """Returns why no provider has a model; empty if one has it."""
        return model_problem(model, self._config)

    def needs_key(self, model: str) -> bool:
        """Whether the API key of this model is missing."""
        access = self.account(model)
        return access.needs_key and access.account not in key_origins()

    async def store_key(self, model: str, key: str) -> str:
        """Tests an API key and stores it, for its owner alone, unless the provider rejects it.

        The test asks the provider for its models, which costs nothing. Returns what was found, or
        why the key could not be tested. Raises `ConfigError`; nothing is stored then.
        """
        key = key.strip()
        if not key or not key.isprintable():
            raise ConfigError("Enter an API key.")
        if key.startswith("/") or any(each.isspace() for each in key):
            raise ConfigError(
                "This is not an API key: a key does not start with '/' and has no spaces. It was "
                "neither sent nor stored."
            )
        said = await self._test_key(model, key)
        save_key(self.account(model).account, key)
        return said

    async def _test_key(self, model: str, key: str) -> str:
        try:
            found = await self._list(model, key)
        except Failure as failure:
            if failure.kind == "bad_key":
                title = self.account(model).title
                raise ConfigError(f"{title} rejected this API key. It was not stored.") from None
            return f"The API key is stored, but could not be tested: {failure}"
        return f"The API key works: {counted(len(found), 'model')}."

    async def server_models(self, address: str) -> Sequence[str]:
        """The models of an OpenAI-compatible server. Raises `Failure`."""
        urls = {**self._config.base_urls, "compatible": address}
        return await self._list("compatible:any", load_keys().get("compatible", ""), urls)

    async def _list(self, model: str, key: str, urls: Mapping[str, str] = {}) -> Sequence[str]:
        route = resolve(model, urls or self._config.base_urls)
        from sapwood.models.model_list import list_models

        return await list_models(route, key)

    def choose_server(self, address: str, model: str) -> str:
        """Stores the address of an OpenAI-compatible server and chooses one of its models.

        Returns the name of the model. Raises `ConfigError`.
        """
        if not address.startswith(("http://", "https://")) or not model.strip():
            raise ConfigError("Enter an address and the name of a model.")
        set_setting("base_urls.compatible", address)
        return self.choose(f"compatible:{model.strip()}")

    def choose(self, model: str) -> str:
        """Stores the model of new conversations; returns its name. Raises `ConfigError`."""
        set_setting("model", model)
        return model
