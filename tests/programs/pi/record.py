"""Records the fixture with the real pi: `python -m tests.programs.pi.record PI`, offline.

A session with tool calls, an interrupted turn, a branch, a command of the user, a compaction and an
edit of the context. Machine paths and the system prompt are replaced.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

from scripted_model import ScriptedModel

FIXTURE = Path(__file__).parents[1] / "transcripts" / "fixtures" / "pi-branches.jsonl"
EXTENSION = """
let omitted = [];
export default (pi) => {
  pi.registerCommand("go", { handler: async (id, ctx) => {
    await ctx.navigateTree(id, { summarize: false });
  } });
  pi.registerCommand("omit", { handler: async (ids) => { omitted = ids.split(" "); } });
  pi.on("agent_before_settle", () => {
    const entries = omitted.map((targetId) => (
      { type: "context_edit", targetId, replacement: null }));
    omitted = [];
    return { entries };
  });
};
"""


_SUMMARISES = "context summarization assistant"


class Recorder:
    """A pi in a home of its own, driven by RPC."""

    def __init__(self, pi: str, home: Path, model: ScriptedModel) -> None:
        self.home, work = home, home / "work"
        agent = home / ".pi" / "agent"
        agent.mkdir(parents=True)
        work.mkdir()
        used = {"id": "m1", "name": "m1", "contextWindow": 200_000, "maxTokens": 8_000}
        provider = {"baseUrl": model.anthropic_url, "api": "anthropic-messages", "apiKey": "x"}
        models = {"providers": {"scripted": {**provider, "models": [{**used, "reasoning": True}]}}}
        (agent / "models.json").write_text(json.dumps(models))
        settings = {"compaction": {"keepRecentTokens": 5, "reserveTokens": 1_000}}
        (agent / "settings.json").write_text(json.dumps(settings))
        (home / "extension.js").write_text(EXTENSION)
        command = [pi, "--mode", "rpc", "--offline", "--model", "scripted/m1", "--thinking", "low"]
        self._process = subprocess.Popen(
            [*command, "--extension", str(home / "extension.js"), "--session-id", "recorded"],
            cwd=work,
            env={"PATH": f"{Path(pi).parent}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def record(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return cast("dict[str, Any]", json.loads(self._process.stdout.readline()))

    def call(self, command: str, /, **fields: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        line = json.dumps({"id": command, "type": command, **fields})
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        while (found := self.record())["type"] != "response" or found.get("id") != command:
            pass
        if not found["success"]:
            raise SystemExit(f"{command}: {found}")
        return cast("dict[str, Any]", found.get("data") or {})

    def turn(self, text: str, *, abort: bool = False) -> None:
        self.call("prompt", message=text)
        while (found := self.record())["type"] != "agent_settled":
            if abort and found["type"] == "message_start" and found["message"]["role"] == "user":
                self.call("abort")
                return

    @property
    def path(self) -> Path:
        return Path(self.call("get_state")["sessionFile"])

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def last(self, word: str) -> str:
        """The last entry whose text contains this word."""
        return [each["id"] for each in self.entries() if word in json.dumps(each)][-1]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(15)


def main(pi: str) -> None:
    """Records the session and writes the fixture."""
    with tempfile.TemporaryDirectory() as folder, ScriptedModel() as model:
        model.script(lambda each: "SUMMARY" if _SUMMARISES in str(each) else None)
        run = Recorder(pi, Path(folder), model)
        run.turn('TURN1 [[think: hm]] [[tool: bash {"command":"echo result-1"}]] [[say: ANSWER1]]')
        run.turn("TURN2 [[say: ANSWER2]]")
        run.turn("TURN3 [[sleep: 5]] [[say: ANSWER3]]", abort=True)
        run.call("prompt", message=f"/go {run.last('ANSWER1')}")
        run.call("bash", command="echo typed-by-hand")
        run.turn("TURN4 [[say: ANSWER4]]")
        run.turn("TURN5 [[say: ANSWER5]]")
        run.call("compact")
        run.turn("TURN6 [[say: ANSWER6]]")
        run.call("prompt", message=f"/omit {run.last('TURN6')} {run.last('ANSWER6')}")
        run.turn("TURN7 [[say: ANSWER7]]")
        entries, work = run.entries(), str(run.home / "work")
        run.close()
    system = {"role": "system", "content": "", "sections": {"preamble": "You are pi."}}
    for each in entries:
        if each.get("message", {}).get("role") == "system":
            each["message"] = {**system, "timestamp": each["message"]["timestamp"]}
        if "systemMessage" in each:
            each["systemMessage"] = {**system, "timestamp": each["systemMessage"]["timestamp"]}
    rows = (json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in entries)
    FIXTURE.write_text("".join(f"{row}\n" for row in rows).replace(work, "/srv/wood"))


if __name__ == "__main__":
    main(sys.argv[1])
