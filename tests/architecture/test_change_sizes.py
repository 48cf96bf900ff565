"""How many files a change touches: a module that lists all of a thing has to list a new one too.

What an agent program touches is counted in `tests/programs/test_registry.py`.
"""

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import sapwood
from sapwood.config.editor import known_settings
from sapwood.conversation.service import HANDLERS
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Command
from sapwood.core.events import Event, UnreadableEvent

ROOT = Path(sapwood.__file__).parents[2]
NEARLY_ALL = 0.8
STORES = {
    "sqlite": {"store/stores.py", "doctor/database_checks.py"},
    "postgres": {"store/stores.py", "doctor/database_checks.py", "config/database_address.py"},
}
"""What names a store outside of its folder."""
NOT_OF_EVERY_STORE = {
    "app/maintenance.py": "prints the grants for roles of PostgreSQL",
    "app/space_move.py": "moves spaces between databases of PostgreSQL",
    "doctor/checks.py": "lists the extras that pip can install",
    "redaction/token_search.py": "masks passwords in addresses of any program",
}


@cache
def words() -> dict[str, frozenset[str]]:
    """The words, the quoted words and the fields of every module, of all distributions."""
    found = [*ROOT.glob("src/**/*.py"), *ROOT.glob("packages/*/src/**/*.py")]
    pattern = re.compile(r'(?m)^    \w+: |"[\w-]+(?:://)?"|sapwood\.store\.\w+|\w+')
    return {
        path.relative_to(ROOT).as_posix().removeprefix("src/sapwood/"): frozenset(
            pattern.findall(path.read_text("utf-8"))
        )
        for path in found
    }


def modules_that_list(names: Collection[str]) -> set[str]:
    """The modules that contain nearly all of these words."""
    few = NEARLY_ALL * len(names)
    return {path for path, found in words().items() if len(found.intersection(names)) >= few}


def test_an_event_kind_touches_four_files() -> None:
    kinds: set[type] = set(get_args(Event)) - {UnreadableEvent}
    names = {kind.__name__ for kind in kinds}
    listing = modules_that_list(names) | modules_that_list({f'"{name}"' for name in names})
    assert listing == {"core/events/__init__.py", "core/evolve.py", "core/event_texts.py"}
    families = {kind.__module__.rpartition(".")[0] for kind in kinds}  # the fourth is its family
    assert families == {"sapwood.core.events"}


def test_a_command_touches_two_files() -> None:
    listing = modules_that_list({f'"{row.name}"' for row in TABLE.rows})
    assert listing == {"core/command_table.py"}
    handlers = {handler.__module__.rpartition(".")[0] for handler in HANDLERS.values()}
    assert handlers == {"sapwood.conversation.handlers"}  # the second is the file of its group


def test_a_command_of_the_core_touches_three_files() -> None:
    """The third has its decision, which names the command in its signature."""
    listing = modules_that_list({kind.__name__ for kind in get_args(Command)})
    assert listing == {"core/commands.py", "core/command_table.py"}


def test_a_setting_touches_one_file() -> None:
    """What uses a setting is not counted, only what makes it one that a person can set."""
    names = {setting.name.rpartition(".")[2] for setting in known_settings()} - {"NAME"}
    fields = modules_that_list({f"    {name}: " for name in names})
    quoted = modules_that_list({f'"{name}"' for name in names})
    assert fields | quoted | modules_that_list(names) == {"config/config_file.py"}


@pytest.mark.parametrize("store", STORES)
def test_a_store_touches_three_files_outside_of_its_folder(store: str) -> None:
    named = {f"sapwood.store.{store}", f'"{store}"', f'"{store}ql://"'}
    outside = {path for path, found in words().items() if named & found}
    outside = {path for path in outside if not path.startswith(f"store/{store}/")}
    assert outside - NOT_OF_EVERY_STORE.keys() == STORES[store]
    assert len(STORES[store]) <= 3
