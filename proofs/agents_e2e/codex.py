"""Drives Codex through the JSON lines of its app server."""

from typing import Any

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.lines import Talker


class Codex(Talker):
    """A running app server."""

    def __init__(self, home: Home) -> None:
        super().__init__(
            [str(home.root / "bin" / "codex"), "app-server"], home.project, home.environ
        )
        self._home = home
        self._calls = 0
        self.call("initialize", clientInfo={"name": "proof", "version": "0"})
        self.send({"method": "initialized"})

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Calls a method and returns its result."""
        self._calls += 1
        number = self._calls
        self.send({"id": number, "method": method, "params": params})
        *_, answer = self.read_until(lambda line: line.get("id") == number and "method" not in line)
        if "error" in answer:
            raise ProofError(f"Codex refused {method}: {answer['error']}")
        return answer["result"]

    def start(self, source: str = "startup") -> str:
        """Starts a new thread and returns its id."""
        answer = self.call(
            "thread/start",
            cwd=str(self._home.project),
            approvalPolicy="never",
            sandbox="danger-full-access",
            sessionStartSource=source,
        )
        return answer["thread"]["id"]

    def ask(self, thread: str, text: str) -> str:
        """Sends a prompt, waits for the end of its turn, and returns how it ended."""
        self.call("turn/start", threadId=thread, input=[{"type": "text", "text": text}])
        return self._end(thread)

    def compact(self, thread: str) -> str:
        """Compacts by hand."""
        self.call("thread/compact/start", threadId=thread)
        return self._end(thread)

    def _end(self, thread: str) -> str:
        """Waits for the end of this thread's turn; ignores the turns of subagents."""

        def ends(line: dict[str, Any]) -> bool:
            return line.get("method") == "turn/completed" and line["params"]["threadId"] == thread

        *_, last = self.read_until(ends)
        return last["params"]["turn"]["status"]

    def hooks(self) -> list[dict[str, Any]]:
        """Our hooks, as Codex knows them."""
        answer = self.call("hooks/list", cwds=[str(self._home.project)])
        found = [hook for each in answer["data"] for hook in each["hooks"]]
        return [hook for hook in found if hook.get("pluginId") == "sapwood@sapwood"]

    def trust_hooks(self) -> None:
        """Trusts our hooks, as a user does under /hooks. Sapwood itself never does this."""
        edits = [
            {
                "keyPath": f'hooks.state."{hook["key"]}".trusted_hash',
                "value": hook["currentHash"],
                "mergeStrategy": "upsert",
            }
            for hook in self.hooks()
        ]
        self.call("config/batchWrite", edits=edits, reloadUserConfig=True)
