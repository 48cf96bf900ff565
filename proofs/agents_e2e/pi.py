"""Drives pi through its RPC mode, without Sapwood."""

from typing import Any

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.lines import Talker


class Pi(Talker):
    """A session, new or resumed."""

    def __init__(self, home: Home, *, resume: str = "") -> None:
        command = [str(home.root / "bin" / "pi"), "--mode", "rpc"]
        command += ["--session", resume] if resume else []
        super().__init__(command, home.project, home.environ)
        self.session = str(self.call("get_state")["sessionId"])

    def ask(self, text: str) -> None:
        """Sends a prompt, and waits until its turn has ended."""
        self.call("prompt", message=text)
        list(self.read_until(lambda line: line.get("type") == "agent_settled"))

    def call(self, kind: str, /, **fields: object) -> dict[str, Any]:
        """Calls a command; returns its data."""
        self.send({"id": kind, "type": kind, **fields})
        *_, answer = self.read_until(lambda line: line.get("type") == "response")
        if not answer["success"]:
            raise ProofError(f"pi refused {kind}: {answer['error']}")
        return answer.get("data") or {}
