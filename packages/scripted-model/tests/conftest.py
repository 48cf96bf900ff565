"""A server for each test. Tests of client libraries are collected if the library is installed."""

from collections.abc import Generator
from importlib.util import find_spec

import pytest

from scripted_model import ScriptedModel

LIBRARIES = {
    "test_anthropic_library.py": ("anthropic",),
    "test_google_library.py": ("google.genai",),
    "test_openai_library.py": ("openai",),
    "test_pydantic_ai_library.py": ("pydantic_ai", "anthropic", "openai", "google.genai"),
}


def is_installed(name: str) -> bool:
    """Whether the module can be imported."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False  # not even the package that it would be in


MISSING = {
    file: [name for name in names if not is_installed(name)] for file, names in LIBRARIES.items()
}
collect_ignore = [file for file, names in MISSING.items() if names]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints which tests were not run, and why."""
    for file in collect_ignore:
        terminalreporter.write_line(f"not run: {file} ({', '.join(MISSING[file])} not installed)")


@pytest.fixture
def server() -> Generator[ScriptedModel]:
    with ScriptedModel(retry_after=0.01) as server:
        yield server
