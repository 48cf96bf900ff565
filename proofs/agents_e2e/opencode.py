"""Drives opencode through its HTTP server, without Sapwood."""

import base64
import http.client
import json
import os
import re
import secrets
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import OPENCODE_MODEL, Home

_SECONDS = 120.0
_ADDRESS = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


class Opencode:
    """A server with a session, new or resumed."""

    def __init__(self, home: Home, *, resume: str = "") -> None:
        self._folder: Path = home.project
        password = secrets.token_hex(16)
        self._token = base64.b64encode(f"opencode:{password}".encode()).decode()
        self._server = subprocess.Popen(
            [str(home.root / "bin" / "opencode"), "serve", "--hostname", "127.0.0.1", "--port=0"],
            cwd=home.project,
            env={**home.environ, "OPENCODE_SERVER_PASSWORD": password},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._port = self._listening()
        self.session = resume or str(self.call("POST", "/session", {})["id"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the server, with everything that it started."""
        self._server.terminate()
        try:
            self._server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
        assert self._server.stdout is not None
        self._server.stdout.close()

    def ask(self, text: str) -> None:
        """Sends a prompt, and waits until its turn has ended."""
        parts = [{"type": "text", "text": text}]
        self.call("POST", f"/session/{self.session}/message", {"parts": parts})

    def compact(self) -> None:
        """Compacts by hand."""
        provider, _, model = OPENCODE_MODEL.partition("/")
        chosen = {"providerID": provider, "modelID": model}
        self.call("POST", f"/session/{self.session}/summarize", chosen)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Calls the server; returns its answer."""
        server = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)
        headers = {"authorization": f"Basic {self._token}", "content-type": "application/json"}
        try:
            server.request(method, path, json.dumps(body), headers)
            answer = server.getresponse()
            content = answer.read()
        except OSError as error:
            raise ProofError(f"opencode did not answer {method} {path}: {error}") from error
        finally:
            server.close()
        if answer.status >= 400:
            raise ProofError(f"opencode refused {method} {path}: {content.decode()[:500]}")
        return json.loads(content) if content.strip() else None

    def _listening(self) -> int:
        assert self._server.stdout is not None
        printed: list[str] = []
        for line in self._server.stdout:
            if found := _ADDRESS.search(line):
                return int(found[1])
            printed.append(line)
        raise ProofError(f"opencode did not start: {''.join(printed)[-500:]}")
