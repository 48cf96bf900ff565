"""Compares the requests that Sapwood rebuilds from a transcript with those that the model got."""

import json
from pathlib import Path
from typing import Any

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.model import Seen
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.view.request import MessagePart, SignedSummary, ToolResult
from sapwood.programs.claude_code.sent_requests import rebuild_request, sent_requests
from sapwood.programs.transcripts.transcript_events import imported_agent_id


def check_replay(home: Home, seen: Seen, checks: Checks) -> None:
    """Every request in the transcripts of Claude Code is one that the model got, word for word."""
    received = [_received_texts(body) for body in seen.bodies()]
    rebuilt = wrong = 0
    longest = max(home.claude.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    for path in home.claude.rglob("projects/**/*.jsonl"):
        for sent in sent_requests(path):
            again = rebuild_request(path, sent)
            texts = [text for m in again.request.messages for part in m.parts for text in _of(part)]
            rebuilt += 1
            wrong += bool(again.missing) or texts not in received
    checks.expect(
        f"all {rebuilt} requests in its transcripts are rebuilt as the model got them",
        rebuilt >= len(sent_requests(longest)) > 1 and not wrong,
        wrong,
    )
    _check_command(home, longest, checks)


def _check_command(home: Home, path: Path, checks: Checks) -> None:
    agent = imported_agent_id("claude-code", path.stem)
    shown = home.sapwood("replay", agent, "2", "--json")
    checks.expect(
        "sapwood replay shows one of them, verified by its hash",
        shown.returncode == 0 and json.loads(shown.stdout)["matches"],
        shown,
    )


def _of(part: MessagePart) -> list[str]:
    match part:
        case Text(text) | SignedSummary(text):
            return [text.removeprefix("[system] ")]
        case Thinking() | File():
            return []
        case ToolCall(_, name):
            return [name]
        case ToolResult(_, _, content):
            return [content]


def _received_texts(body: dict[str, Any]) -> list[str]:
    texts: list[str] = []
    for message in body.get("messages", ()):
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            result = block.get("content")
            parts = [result] if isinstance(result, str) else [p.get("text") for p in result or ()]
            text = block.get("text") or block.get("name") or "\n\n".join(filter(None, parts))
            if text or block.get("type") == "tool_result":
                texts.append(text)
    return texts
