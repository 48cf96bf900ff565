"""Writes transcripts in the form of Claude Code, for tests of code that reads them.

Contains only the rows of the conversation: prompts, replies, tool calls with results, compactions.
"""

import json
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5


class ClaudeTranscript:
    """A transcript file. Each method appends rows and returns the transcript.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     transcript = ClaudeTranscript(Path(folder) / "s1.jsonl")
    ...     transcript.ask("Where do herons nest?").say("In tall trees.", used=12_000)
    ...     len(transcript.path.read_text().splitlines())
    ClaudeTranscript('s1')
    2
    """

    def __init__(self, path: Path, *, folder: str = "/srv/wood", model: str = "claude-x") -> None:
        self.path = path
        self.session = path.stem
        self._folder = folder
        self._model = model
        self._rows = 0
        self._last: str | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def __repr__(self) -> str:
        return f"ClaudeTranscript({self.session!r})"

    def ask(self, text: str) -> "ClaudeTranscript":
        """Appends a prompt of the user."""
        return self._add("user", message={"role": "user", "content": text})

    def say(self, text: str, *, used: int = 1_000) -> "ClaudeTranscript":
        """Appends the reply that ends a turn. `used` is the number of tokens of its request."""
        return self._reply([{"type": "text", "text": text}], "end_turn", used)

    def call(
        self,
        name: str,
        args: dict[str, Any],
        result: str,
        *,
        failed: bool = False,
        used: int = 1_000,
    ) -> "ClaudeTranscript":
        """Appends a tool call and its result."""
        call = f"toolu_{self._rows}"
        use = {"type": "tool_use", "id": call, "name": name, "input": args}
        got = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        self._reply([use], "tool_use", used)
        return self._add("user", message={"role": "user", "content": [got]})

    def compact(self, summary: str, *, trigger: str = "auto") -> "ClaudeTranscript":
        """Appends a compaction: the summary replaces everything before it."""
        metadata = {"trigger": trigger, "preTokens": 95_000, "postTokens": 3_000}
        self._last = None
        self._add(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata=metadata,
        )
        message = {"role": "user", "content": summary}
        return self._add("user", message=message, isCompactSummary=True)

    def _reply(self, content: list[Any], stop: str, used: int) -> "ClaudeTranscript":
        message = {
            "id": f"msg_{self._rows}",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": stop,
            "usage": {"input_tokens": used, "output_tokens": 1},
        }
        return self._add("assistant", message=message)

    def _add(self, kind: str, **more: object) -> "ClaudeTranscript":
        self._rows += 1
        uuid = str(uuid5(NAMESPACE_URL, f"{self.session}/{self._rows}"))
        row = {
            "parentUuid": self._last,
            "isSidechain": False,
            "type": kind,
            **more,
            "uuid": uuid,
            "timestamp": f"2026-01-02T03:{self._rows // 60 % 60:02}:{self._rows % 60:02}.000Z",
            "cwd": self._folder,
            "sessionId": self.session,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._last = uuid
        return self
