"""A home with all programs and a scripted model, which is gone afterwards."""

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from proofs.agents_e2e.environment import find_npm_programs, find_programs
from proofs.agents_e2e.home import Home
from proofs.opencode.environment import find_opencode
from proofs.providers_e2e.processes import kill_program
from scripted_model import ScriptedModel

PROGRAMS = ("claude-code", "codex", "opencode", "pi")
_SUMMARISES = ("context summarization assistant", "Do not mention the summary process")


def find_all_programs() -> dict[str, Path]:
    """The executables of all programs by name. Fetched on first use. Raises `ProofError`."""
    return find_programs() | find_npm_programs() | {"opencode": find_opencode()}


def summary_for_program(request: object) -> str | None:
    """A summary if pi or opencode asks for one: both quote prompts, whose scripts must not run."""
    asked = str(request)
    return "SUMMARY" if any(words in asked for words in _SUMMARISES) else None


@contextmanager
def temporary_home(
    executables: Mapping[str, Path] = MappingProxyType({}),
) -> Generator[tuple[Home, ScriptedModel]]:
    """A new home and its model, with other `executables` of some programs, by name.

    Programs that still run there are killed at the end.
    """
    # Below the folder for temporary files Codex makes no helper programs for its sandbox.
    folder = tempfile.TemporaryDirectory(
        prefix="providers-e2e-", dir="/var/tmp", ignore_cleanup_errors=True
    )
    allowed = {"anthropic": ["safeguards"]}  # sent from a terminal
    with folder as root, ScriptedModel(allow=allowed) as model:
        home = Home(Path(root) / "home", {**find_all_programs(), **executables}, model)
        model.script(summary_for_program)
        try:
            yield home, model
        finally:
            for program in PROGRAMS:
                kill_program(home, program)
