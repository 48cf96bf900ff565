"""The hooks of Codex: when it compacts, and whether its user lets Sapwood's hooks run."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.program import HookTrust, ProgramHooks, number_in

_LIMIT = re.compile(
    rb"^\s*model_auto_compact_token_limit\s*=\s*([1-9](?:_?[0-9]){0,11})(?!\w)", re.MULTILINE
)
_SECONDS = 10.0


def _compaction_limit(environ: Mapping[str, str], folder: str) -> int | None:
    files = PROGRAM.project_file(folder), PROGRAM.home(environ) / "config.toml"
    value = number_in(files, _LIMIT)
    return int(value) if value else None


def _compaction_values(at: int, automatic: bool) -> tuple[dict[str, int | bool], str]:
    always = "Codex has no setting that stops automatic compactions. To undo one: sapwood undo"
    return ({"model_auto_compact_token_limit": at} if at else {}), "" if automatic else always


async def _trust(executable: str, environ: Mapping[str, str]) -> HookTrust:
    from sapwood.programs.json_rpc import NoAnswer, call_program

    try:
        answer = await call_program(
            (executable, "app-server"),
            {"clientInfo": {"name": "sapwood", "version": "0"}},
            "initialized",
            "hooks/list",
            {"cwds": [str(Path.cwd())]},
            environ=environ,
            seconds=_SECONDS,
        )
    except NoAnswer as error:
        return HookTrust("open", f"codex did not answer: {error}")
    hooks: list[dict[str, Any]] = [hook for each in answer["data"] for hook in each["hooks"]]
    ours = [hook for hook in hooks if hook.get("pluginId") == "sapwood@sapwood"]
    trusted = [hook for hook in ours if hook.get("trustStatus") in ("trusted", "managed")]
    if not ours:
        next_step = "codex plugin add sapwood@sapwood"
        return HookTrust("broken", "codex does not load the plugin", next_step)
    if len(trusted) < len(ours):
        message = f"codex needs your review: {len(trusted)} of {len(ours)} hooks are trusted"
        return HookTrust("open", message, "codex, then /hooks")
    return HookTrust("ok", f"all {len(ours)} hooks are trusted")


HOOKS = ProgramHooks(_compaction_limit, _compaction_values, _trust)
