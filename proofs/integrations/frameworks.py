"""The frameworks: for each its example program, and an environment of its own with the framework.

An environment is created on first use from pinned and hashed requirements. It is beside this file,
shares nothing with ours, and gets Sapwood from the source of this repository.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

from proofs.agents_e2e.environment import ProofError

_HERE = Path(__file__).resolve().parent
_REPOSITORY = _HERE.parents[1]
_SOURCES = f"{_REPOSITORY}/src:{_REPOSITORY}/packages/sapwood-frameworks/src"
_SECONDS = 90


@dataclass(frozen=True)
class Framework:
    """One framework: its example in docs/examples, and how it differs from the others.

    `tool` is the name of the tool in requests, `sessions` are two ids that the framework accepts.
    `prefix` stands before such an id in the name of the conversation in Sapwood. `further` is a
    program of this folder that prints further checks, each as `ok …` or `NO …`.
    """

    name: str
    environ: dict[str, str] = field(default_factory=dict[str, str])
    tool: str = "weather"
    sessions: tuple[str, str] = ("chat-42", "chat-43")
    prefix: str = ""
    further: str = ""

    @property
    def example(self) -> Path:
        """The program that the guide shows."""
        return _REPOSITORY / "docs" / "examples" / f"{self.name}_chat.py"

    @property
    def requirements(self) -> Path:
        """The pinned requirements of its environment."""
        return _HERE / "requirements" / f"{self.name}.txt"


FRAMEWORKS = {
    each.name: each
    for each in (
        Framework("openai_agents", {"OPENAI_AGENTS_DISABLE_TRACING": "1"}),
        Framework("pydantic_ai"),
        Framework("google_adk", prefix="chats/ada/", further="google_adk_state.py"),
        Framework("langgraph"),
        Framework(
            "claude_agent_sdk",
            {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
            tool="mcp__city__weather",
            sessions=(
                "0b5f9c3e-7a1d-4c52-9f0e-6a2b8d4e1c37",
                "5d0c8f1a-2b64-4e0f-8f63-91c7a4be2d10",
            ),
        ),
    )
}


def python_of(framework: Framework) -> Path:
    """The interpreter of a framework's environment, which is created if it is missing."""
    place = _HERE / f".venv-{framework.name}"
    stamp = place / "made-from"
    made_from = hashlib.sha256(framework.requirements.read_bytes()).hexdigest()
    text = f"{sys.version}\n{made_from}\n"
    if not stamp.exists() or stamp.read_text() != text:
        _make(framework, place)
        stamp.write_text(text)
    return place / "bin" / "python"


def _make(framework: Framework, place: Path) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(_REPOSITORY / ".venv" / "bin"))
    if uv is None:
        raise ProofError("uv was not found. Run `just setup`, then try again.")
    print(f"integrations: fetching {framework.name}, once", file=sys.stderr, flush=True)
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place))
    python = str(place / "bin" / "python")
    requirements = str(framework.requirements)
    _run(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, requirements)
    _run(python, "-m", "compileall", "-q", str(place / "lib"))


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as failure:
        raise ProofError(
            f"`{' '.join(command[:3])}` failed; its message is above. The wheels come from the "
            "package index, so check that it can be reached."
        ) from failure


def further_checks(framework: Framework) -> list[tuple[bool, str]]:
    """Runs the further checks of a framework; whether each holds, and what it says."""
    done = subprocess.run(
        [str(python_of(framework)), str(_HERE / framework.further)],
        env={"PYTHONPATH": _SOURCES, "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    found = [(word == "ok", what) for word, _, what in lines if word in ("ok", "NO")]
    ended = done.returncode == 0 and bool(found)
    return [*found, (ended, f"{framework.further} ends well {done.stderr[-500:]}".strip())]


class RunningExample:
    """The example in a process of its own: it answers a prompt with one line."""

    def __init__(
        self, framework: Framework, home: Path, environ: dict[str, str], *arguments: str
    ) -> None:
        python = python_of(framework)
        self._errors = (home / "errors.txt").open("w+")
        self._process = subprocess.Popen(
            [str(python), str(framework.example), *arguments],
            cwd=home,
            env={
                **environ,
                **framework.environ,
                "HOME": str(home),
                "PATH": f"{python.parent}:{os.defpath}",
                "PYTHONPATH": _SOURCES,
                "LANG": "C.UTF-8",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._limit = Timer(_SECONDS, self._process.kill)
        self._limit.start()

    def ask(self, prompt: str) -> str:
        """Sends a prompt and returns the answer. Raises `ProofError` if there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(prompt + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._errors.seek(0)
            raise ProofError(f"The example gave no answer: {self._errors.read()[-2_000:]}")
        return answer.strip()

    def close(self) -> int:
        """Ends the process and returns its exit code."""
        self._process.communicate()
        self._limit.cancel()
        self._errors.close()
        return self._process.returncode
