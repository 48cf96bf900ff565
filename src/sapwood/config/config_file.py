"""The configuration: one typed value, from a TOML file and a few environment variables.

SAPWOOD_CONFIG    the file, instead of config.toml in the user's configuration folder
SAPWOOD_DATA      the folder of archives, focus, journal and database, instead of the user's own
SAPWOOD_ERASURES  the file that lists what was erased, instead of one in the data folder
SAPWOOD_DATABASE  a path or postgresql://…
SAPWOOD_ENCRYPTION_KEY  master keys of encrypted spaces, instead of a file with them
SAPWOOD_SPACE     the space
SAPWOOD_MODEL     the model of new agents
SAPWOOD_MCP_TOKEN the bearer token of `sapwood mcp --http`, instead of the stored one
SAPWOOD_DEBUG     if set, errors come with a traceback, as with --debug
NO_COLOR          if set, nothing is coloured
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field, structs

from sapwood.config.folders import config_folder, data_folder
from sapwood.config.serve_settings import ServeConfig
from sapwood.core.errors import LogError, SapwoodError
from sapwood.core.settings import PermissionMode, Settings

__all__ = [
    "BudgetConfig",
    "CheckpointConfig",
    "Config",
    "ConfigError",
    "ContextConfig",
    "EncryptionConfig",
    "LimitConfig",
    "McpServer",
    "RetentionConfig",
    "ScreenConfig",
    "TelemetryConfig",
    "TemporalConfig",
    "TendingConfig",
    "config_file",
    "environment_overrides",
    "load_config",
    "parse_config",
    "prepare_folder",
    "read_config",
    "spans_address",
]

_FROM_ENVIRONMENT = ("database", "server", "space", "model")
_SPAN_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

Natural = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, le=1)]
NotNegative = Annotated[float, Meta(ge=0)]

_DEFAULTS = Settings()


class ConfigError(SapwoodError):
    """The configuration cannot be used; the message names the file and the setting."""


class ContextConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The context settings of new agents.

    With `default_prompt`, the model gets folder, date, system and git branch. With `instructions`,
    it gets AGENTS.md and CLAUDE.md of the workspace.
    """

    cap: Natural = 100_000
    low_water: Share = 0.6
    mask_over: Natural = 0
    levels: tuple[Share, Share, Share] = (0.5, 0.65, 0.85)
    system: str = ""
    default_prompt: bool = True
    instructions: bool = True
    summary_cap: Natural = _DEFAULTS.summary_cap
    summary_score: Annotated[float, Meta(ge=0, le=1)] = _DEFAULTS.summary_score
    extend_summary: bool = _DEFAULTS.extend_summary


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the agents of one conversation may spend and start; 0 for no limit.

    `cost` is in dollars. `depth` counts levels of agents below the first one, `agents` those that
    run, `turns` those in a row that no human started, `turn_calls` the model calls of one turn.
    """

    cost: NotNegative = _DEFAULTS.budget_cost
    calls: Natural = _DEFAULTS.budget_calls
    depth: Natural = _DEFAULTS.budget_depth
    agents: Natural = _DEFAULTS.budget_agents
    turns: Natural = _DEFAULTS.budget_turns
    turn_calls: Natural = _DEFAULTS.budget_turn_calls


class TendingConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What Sapwood does for other programs.

    `budget` and `subagent_budget` are the tokens that a hook may add after a compaction and for a
    subagent, 0 for none. With `after_clear`, a hook also adds a recap after a clear. With
    `all_projects`, the MCP tool `context` may read other projects. `judge` is who judges chapters
    and decisions in the background: a model, `claude-code`, `codex`, or `off`. `judge_cost` is what
    that may cost for one session, in dollars, 0 for no limit.
    """

    budget: Natural = 2_000
    subagent_budget: Natural = 500
    after_clear: bool = False
    all_projects: bool = False
    judge: str = "off"
    judge_cost: NotNegative = 0.1


class ScreenConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How the terminal screen looks and behaves. `keys` assigns other keys to actions."""

    theme: str = "sapwood-dark"
    mouse: bool = True
    bell: bool = True
    print_on_leaving: bool = False
    keys: dict[str, str] = {}


class CheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Checkpoints of files: whether they are made, and the largest file they contain, in bytes."""

    enabled: bool = True
    largest: Natural = 10_000_000


class McpServer(Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools agents may use: a command to start, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}


class LimitConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How many agents run at once in all workers, for one model, owner and space; 0 for no limit.

    `share` is the most agents of one space that one worker runs.
    """

    per_model: Natural = 0
    per_user: Natural = 0
    per_space: Natural = 0
    share: Natural = 0


class RetentionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that workers carry out: what happens to conversations idle for `days`.

    `spaces` is a name with `*` and `?`. `label` and `owner` narrow it. With `erase`, they are
    erased. `archive` is the address of object storage to which they are moved.
    """

    days: Annotated[float, Meta(gt=0)]
    spaces: str = "*"
    label: str = ""
    owner: str = ""
    erase: bool = False
    archive: str = ""

    def __post_init__(self) -> None:
        if self.erase == bool(self.archive):
            raise ValueError("a rule needs erase = true or an address as archive, and not both")


class EncryptionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Which new spaces are encrypted, and the file with the master keys.

    Without a key, none is. `spaces` is a name with `*` and `?`. The variable SAPWOOD_ENCRYPTION_KEY
    takes the place of the file.
    """

    key_file: str = ""
    spaces: str = "*"


class TelemetryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Spans for OpenTelemetry: where they are sent, and whether they contain the conversation."""

    endpoint: str = ""
    content: bool = False


class TemporalConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The Temporal server of `engine = "temporal"`.

    What is left empty comes from Temporal's own settings: the environment variables TEMPORAL_…, or
    the `profile` of its file temporal.toml. The API key is read only from there. Each log needs a
    `task_queue` of its own. With `tls` "auto", the other settings decide. `server_ca`,
    `client_cert` and `client_key` are paths of PEM files.
    """

    address: str = ""
    namespace: str = ""
    task_queue: str = "sapwood"
    profile: str = ""
    tls: Literal["auto", "on", "off"] = "auto"
    server_name: str = ""
    server_ca: str = ""
    client_cert: str = ""
    client_key: str = ""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured.

    `engine` decides which process drives an agent. "auto" is DBOS if it is installed, else an
    engine of this process alone. `ask_seconds` is how long a worker waits for a person who approves
    a tool call; 0 to deny at once. `retention_hours` is how often a worker carries out the rules in
    `retention`.
    """

    database: str = ""
    server: str = ""
    space: str = "local"
    model: str = ""
    base_urls: dict[str, str] = {}
    context: ContextConfig = ContextConfig()
    budget: BudgetConfig = BudgetConfig()
    tending: TendingConfig = TendingConfig()
    screen: ScreenConfig = ScreenConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    permissions: tuple[str, ...] = ()
    sandbox: Literal["auto", "on", "off"] = "auto"
    sandbox_network: bool = True
    sandbox_readable: tuple[str, ...] = ()
    permission_mode: PermissionMode = "ask"
    servers: dict[str, McpServer] = field(default_factory=dict[str, McpServer])
    engine: Literal["auto", "dbos", "temporal", "local"] = "auto"
    temporal: TemporalConfig = TemporalConfig()
    workers: Annotated[int, Meta(ge=1)] = 100
    limits: LimitConfig = LimitConfig()
    ask_seconds: Natural = 60
    telemetry: TelemetryConfig = TelemetryConfig()
    encryption: EncryptionConfig = EncryptionConfig()
    serve: ServeConfig = ServeConfig()
    retention: dict[str, RetentionConfig] = field(default_factory=dict[str, RetentionConfig])
    retention_hours: Annotated[float, Meta(gt=0)] = 6.0

    @property
    def address(self) -> str:
        """The address of the database: as configured, else a file in the user's data folder."""
        return self.database or str(data_folder() / "sapwood.db")

    @property
    def log_folder(self) -> Path:
        """The folder of log files."""
        from platformdirs import user_log_path

        return user_log_path("sapwood", appauthor=False)


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the configuration file, which may not exist."""
    named = environ.get("SAPWOOD_CONFIG")
    if named:
        return Path(named).expanduser()
    return config_folder() / "config.toml"


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """Reads the configuration. A missing file counts as empty. Raises `ConfigError`."""
    config = parse_config(read_config(environ), config_file(environ))
    return structs.replace(config, **environment_overrides(environ))


def environment_overrides(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The values of environment variables, which override those of the file."""
    names = {name: f"SAPWOOD_{name.upper()}" for name in _FROM_ENVIRONMENT}
    return {name: environ[variable] for name, variable in names.items() if environ.get(variable)}


def read_config(environ: Mapping[str, str] = os.environ) -> str:
    """The text of the file, empty if it does not exist. Raises `ConfigError`."""
    file = config_file(environ)
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def parse_config(text: str, file: Path) -> Config:
    """Parses a configuration; errors name `file`. Raises `ConfigError`."""
    try:
        return msgspec.convert(_tables(text, file) if text else {}, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file} does not fit: {error}.") from error


def _tables(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error


def spans_address(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """The address of the OpenTelemetry collector; empty if none is configured."""
    variables = (environ.get(name, "") for name in _SPAN_VARIABLES)
    return config.telemetry.endpoint or next(filter(None, variables), "")


def prepare_folder(config: Config) -> None:
    """Creates the folder of the default database. Raises `LogError` if that fails."""
    if config.database:
        return
    folder = Path(config.address).parent
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LogError(
            f"The folder {folder} cannot be created: {error.strerror}. "
            "Name a database elsewhere with --database or SAPWOOD_DATABASE."
        ) from error
