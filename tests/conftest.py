"""What every test may ask for: a PostgreSQL server, and Hypothesis at the right effort.

`HYPOTHESIS_PROFILE` chooses the effort: `dev` while writing code, `ci` in the check of a change
(the same examples at every run, so that a red check is about the change), `night` and `prove` to
search longer.
"""

import asyncio
import functools
import gc
import os
import ssl
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import httpcore2
import pytest
from hypothesis import settings

from sapwood import meaning
from tests.plugin_distribution import install_plugin as install_plugin  # a fixture for every test
from tools.postgres import dsn_or_throwaway
from tools.temporal_server import address_or_throwaway

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("night", max_examples=500, deadline=None, print_blob=True)
settings.register_profile("prove", max_examples=10_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves what needs a Temporal server to the night, since each process would start its own."""
    for item in items:
        if isinstance(item, pytest.Function) and "temporal_address" in item.fixturenames:
            item.add_marker("night")


def pytest_collection_finish() -> None:
    """Spares the garbage collector the objects of all collected tests, which stay to the end.

    Screens make so many objects that its default thresholds cost a third of their tests' time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """The home is that of nobody; only the caches of installers are the real ones."""
    caches = {"XDG_CACHE_HOME": ".cache", "npm_config_cache": ".npm"}
    with pytest.MonkeyPatch.context() as patch:
        for variable, folder in caches.items():
            patch.setenv(variable, os.environ.get(variable) or str(Path.home() / folder))
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.delenv("SAPWOOD_DATA", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Generator[None]:
    """Clients share the certificates of the machine, which each would read for 30 ms."""
    read = httpcore2.default_ssl_context

    @functools.cache
    def context(_file: str | None, _folder: str | None, *, trust_env: bool) -> ssl.SSLContext:
        return read(_trust_env=trust_env)

    def shared(*, _trust_env: bool = True) -> ssl.SSLContext:
        places = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        return context(*places, trust_env=_trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", shared)
        yield


@pytest.fixture(scope="session", autouse=True)
def search_by_words() -> Generator[None]:
    """Search looks for words alone, though the extra `meaning` is installed for tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "extra_installed", lambda: False)
        yield


@pytest.fixture
def search_by_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search uses the extra `meaning`."""
    monkeypatch.setattr(meaning, "extra_installed", lambda: True)


@pytest.fixture(scope="session")
def postgres_dsn() -> Generator[str]:
    """The address of a real server. Without one the test fails; it is never skipped."""
    with dsn_or_throwaway(volatile=True) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def postgres_template(postgres_dsn: str) -> Generator[str]:
    """The name of a database with empty tables. Making another one of it takes a moment."""
    from sapwood.store.postgres import PostgresLog
    from tests.postgres_session import new_database

    async def make_tables() -> None:
        await (await PostgresLog.open(address)).close()

    with new_database(postgres_dsn) as address:
        asyncio.run(make_tables())
        yield urlsplit(address).path.removeprefix("/")


@pytest.fixture(scope="session")
def temporal_address() -> Generator[str]:
    """The address of a real Temporal server. Without one the test fails; it is never skipped."""
    with address_or_throwaway() as address:
        yield address
