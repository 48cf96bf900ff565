"""A home with all programs and a scripted model, which is gone afterwards."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from proofs.agents_e2e.environment import find_npm_programs, find_programs
from proofs.agents_e2e.home import Home
from proofs.providers_e2e.processes import kill_program
from scripted_model import ScriptedModel

_SUMMARISES = "context summarization assistant"


def summary_for_pi(request: object) -> str | None:
    """A summary if pi asks for one: it quotes prompts, whose scripts must not run then."""
    return "SUMMARY" if _SUMMARISES in str(request) else None


@contextmanager
def temporary_home() -> Generator[tuple[Home, ScriptedModel]]:
    """A new home and its model. Programs that still run there are killed at the end."""
    # Below the folder for temporary files Codex makes no helper programs for its sandbox.
    folder = tempfile.TemporaryDirectory(
        prefix="providers-e2e-", dir="/var/tmp", ignore_cleanup_errors=True
    )
    allowed = {"anthropic": ["safeguards"]}  # sent from a terminal
    with folder as root, ScriptedModel(allow=allowed) as model:
        home = Home(Path(root) / "home", find_programs() | find_npm_programs(), model)
        model.script(summary_for_pi)
        try:
            yield home, model
        finally:
            for program in ("claude-code", "codex", "pi"):
                kill_program(home, program)
