"""The hooks of pi: an extension of Sapwood calls them. When pi compacts is set in its settings."""

from collections.abc import Mapping

from sapwood.programs.program import ProgramHooks

AUTOMATIC = "compaction.enabled"


def _compaction_limit(environ: Mapping[str, str], folder: str) -> int | None:
    return None  # it depends on the window of the model


def _compaction_values(at: int, automatic: bool) -> tuple[dict[str, int | bool], str]:
    note = "pi compacts by the tokens that are left: set `compaction.reserveTokens` in its settings"
    return ({} if automatic else {AUTOMATIC: False}), f"{note}." if at else ""


HOOKS = ProgramHooks(_compaction_limit, _compaction_values)
