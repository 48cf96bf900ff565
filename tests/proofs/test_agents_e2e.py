"""The proof with the real programs: the parts that can be tested without them."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from proofs.agents_e2e import namespace
from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.model import Sent

FOLDER = Path(__file__).parents[2] / "proofs" / "agents_e2e"


def test_both_programs_are_pinned_with_hashes() -> None:
    pinned = re.findall(r"^(\S+)==\S+ \\$", (FOLDER / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned == ["claude-agent-sdk", "openai-codex-cli-bin"]


def test_a_machine_without_namespaces_is_a_clear_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "unshare failed: Operation not permitted")

    monkeypatch.delenv("SAPWOOD_PROOF_INSIDE", raising=False)
    monkeypatch.setattr(namespace.subprocess, "run", refuse)
    with pytest.raises(ProofError, match=r"allows no network namespace.*Operation not permitted"):
        namespace.enter_namespace([])


def test_a_failed_check_fails_the_proof(
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = Checks()
    checks.expect("one", True)
    checks.expect("two", [], "what was there")
    assert (checks.passed, checks.failed) == (1, 1)
    assert "what was there" in capsys.readouterr().err


ANTHROPIC = {
    "messages": [
        {"role": "user", "content": "Old words. Look."},
        {"role": "user", "content": [{"type": "tool_result", "content": "7 trees"}]},
        {"role": "system", "content": "## Back: herons"},
    ]
}
OPENAI = {
    "input": [
        {"role": "developer", "content": [{"type": "input_text", "text": "## Back: herons"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Old words. Look."}]},
        {"type": "function_call_output", "output": "7 trees"},
    ]
}


@pytest.mark.parametrize("body", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def test_a_request_is_read_in_the_format_of_either_provider(body: dict[str, object]) -> None:
    sent = Sent(body)
    assert sent.asks("Old words.")
    assert not sent.asks("Look.")
    assert sent.contains("## Back", "herons")
    assert not sent.contains("## Back", "Old words.")
    assert ["7 trees" in json.loads(result).values() for result in sent.results()] == [True]
