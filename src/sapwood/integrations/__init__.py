"""The old name of `sapwood_frameworks`: imports of its modules by this name still work."""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType

if find_spec("sapwood_frameworks") is None:
    raise ModuleNotFoundError(
        "The integrations with agent frameworks are not installed. Type: pip install "
        "'sapwood[openai-agents]', or pydantic-ai, langgraph, google-adk or claude-agent-sdk"
    )


class _Renamed(MetaPathFinder, Loader):
    """Finds each module by its new name, so that there is one of each, by both names."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname.startswith(f"{__name__}.") else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.removeprefix(f"{__name__}.")
        sys.modules[module.__name__] = import_module(f"sapwood_frameworks.{name}")


sys.meta_path.insert(0, _Renamed())
