"""The settings of an agent, changes to them, and its workspace."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, structs

from sapwood.core.machine_paths import MachinePath
from sapwood.core.turn_params import TurnParams

PermissionMode = Literal["ask", "accept-edits", "plan", "read-only", "all"]
"""What happens to a tool call that no permission rule decides."""

READING_MODES: tuple[PermissionMode, ...] = ("plan", "read-only")
"""The modes in which nothing can be changed. In `plan`, the model is asked for a plan."""

BUDGET = "budget_"
"""How the names of budgets begin. People type them with a dot: `budget.calls`."""


def typed_name(field: str) -> str:
    """The name of a setting as people type it.

    >>> typed_name("budget_turn_calls"), typed_name("low_water")
    ('budget.turn_calls', 'low_water')
    """
    return field.replace("_", ".", 1) if field.startswith(BUDGET) else field


def field_of(typed: str) -> str:
    """The field of a setting that was typed.

    Names of the configuration, such as `context.cap`, are taken too.

    >>> field_of("budget.turn_calls"), field_of("low_water"), field_of("context.low_water")
    ('budget_turn_calls', 'low_water', 'low_water')
    """
    return typed.removeprefix("context.").replace(".", "_", 1)


def is_guarded(field: str) -> bool:
    """Whether a setting decides what models may do or spend without a person.

    >>> is_guarded("permission_mode"), is_guarded("budget_cost"), is_guarded("cap")
    (True, True, False)
    """
    return field == "permission_mode" or field.startswith(BUDGET)


class Settings(Struct, frozen=True, omit_defaults=True):
    """The settings of an agent. Forks and successors inherit all of them.

    `cap` is the most tokens of live history, 0 for no cap. Above it, the window moves `head` until
    at most `cap * low_water` tokens are left. When the window moves, tool results of more than
    `mask_over` characters are masked, 0 for never. `window` is the model's own limit, 0 if unknown.
    `levels` are the shares of it at which the user is warned. When the tool results of older turns
    have more than `offer_drops` tokens, the next prompt tells the model that it can drop them, 0
    for never.

    The budgets limit what models can spend and start without a person; 0 means no limit. Those of
    the root hold for all its descendants together: dollars, model calls, levels of agents below the
    root, running agents, turns in a row that no human started. `budget_turn_calls` is the most
    model calls of one turn.

    `summary_cap` is the most tokens of a summary, 0 for no cap. `summary_score` is the share of
    checked facts that a summary must contain. With `extend_summary`, turns that leave the
    window are added to the summary in the background. With `provider_summary`, a provider that can
    writes the summary of a compaction itself, which keeps earlier thinking valid.

    `permission_mode` is what happens to a tool call that no permission rule decides. `params` are
    the parameters of its turns.

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
    budget_cost: float = 50.0
    budget_calls: int = 5_000
    budget_depth: int = 4
    budget_agents: int = 50
    budget_turns: int = 25
    budget_turn_calls: int = 200
    summary_cap: int = 8_000
    summary_score: float = 0.6
    extend_summary: bool = False
    provider_summary: bool = False
    permission_mode: PermissionMode = "ask"
    params: TurnParams = TurnParams()
    offer_drops: int = 0


class SettingsChange(Struct, frozen=True, omit_defaults=True):
    """New values for some settings; the others stay unchanged."""

    model: str | UnsetType = UNSET
    system: str | UnsetType = UNSET
    cap: int | UnsetType = UNSET
    low_water: float | UnsetType = UNSET
    mask_over: int | UnsetType = UNSET
    window: int | UnsetType = UNSET
    levels: tuple[float, float, float] | UnsetType = UNSET
    budget_cost: float | UnsetType = UNSET
    budget_calls: int | UnsetType = UNSET
    budget_depth: int | UnsetType = UNSET
    budget_agents: int | UnsetType = UNSET
    budget_turns: int | UnsetType = UNSET
    budget_turn_calls: int | UnsetType = UNSET
    summary_cap: int | UnsetType = UNSET
    summary_score: float | UnsetType = UNSET
    extend_summary: bool | UnsetType = UNSET
    provider_summary: bool | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType = UNSET
    params: TurnParams | UnsetType = UNSET
    offer_drops: int | UnsetType = UNSET

    def changed_fields(self) -> dict[str, Any]:
        """The settings that this change sets, by name."""
        return {k: v for k, v in structs.asdict(self).items() if v is not UNSET}

    def applied_to(self, settings: Settings) -> Settings:
        """The settings after this change."""
        return structs.replace(settings, **self.changed_fields())


class Workspace(Struct, frozen=True, omit_defaults=True):
    """The place where an agent works: project folder, git worktree and branch."""

    folder: MachinePath = ""
    worktree: MachinePath = ""
    branch: str = ""
