"""The settings of an agent, changes to them, and its workspace."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType, structs

__all__ = ["Settings", "SettingsChange", "Workspace"]


class Settings(Struct, frozen=True, omit_defaults=True):
    """The settings of an agent. Forks and successors inherit all of them.

    `cap` is the most tokens of live history, 0 for no cap. Above it, the window moves `head` until
    at most `cap * low_water` tokens are left. When the window moves, tool results of more than
    `mask_over` characters are masked, 0 for never. `window` is the model's own limit, 0 if unknown.
    `levels` are the shares of it at which the user is warned.

    >>> settings = Settings(model="gpt-5", cap=50_000)
    >>> settings.cap * settings.low_water
    30000.0
    """

    model: str = ""
    system: str = ""
    cap: int = 100_000
    low_water: float = 0.6
    mask_over: int = 0
    window: int = 0
    levels: tuple[float, float, float] = (0.5, 0.65, 0.85)


class SettingsChange(Struct, frozen=True, omit_defaults=True):
    """New values for some settings; the others stay unchanged."""

    model: str | UnsetType = UNSET
    system: str | UnsetType = UNSET
    cap: int | UnsetType = UNSET
    low_water: float | UnsetType = UNSET
    mask_over: int | UnsetType = UNSET
    window: int | UnsetType = UNSET
    levels: tuple[float, float, float] | UnsetType = UNSET

    def changed_fields(self) -> dict[str, Any]:
        """The settings that this change sets, by name."""
        return {k: v for k, v in structs.asdict(self).items() if v is not UNSET}

    def applied_to(self, settings: Settings) -> Settings:
        """The settings after this change."""
        return structs.replace(settings, **self.changed_fields())


class Workspace(Struct, frozen=True, omit_defaults=True):
    """The place where an agent works: project folder, git worktree and branch."""

    folder: str = ""
    worktree: str = ""
    branch: str = ""
