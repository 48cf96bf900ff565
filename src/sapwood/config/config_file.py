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
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field, structs

from sapwood.config.folders import config_folder, data_folder
from sapwood.config.serve_settings import (
    Natural,
    NotNegative,
    Positive,
    ServeConfig,
    Share,
    explained,
)
from sapwood.core.errors import LogError, SapwoodError
from sapwood.core.settings import PermissionMode, Settings
from sapwood.private_files import private_folder

_FROM_ENVIRONMENT = ("database", "server", "space", "model")
_SPAN_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_DEFAULTS = Settings()


class ConfigError(SapwoodError):
    """The configuration cannot be used; the message names the file and the setting."""


class ContextConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the model of a new agent sees."""

    cap: Annotated[
        Natural,
        explained("Maximum number of history tokens that the model sees. 0 means no limit."),
    ] = 100_000
    low_water: Annotated[
        Share,
        explained(
            "Fraction of the cap to keep when old turns are dropped from view. A smaller fraction "
            "keeps the provider's cache valid longer."
        ),
    ] = 0.6
    mask_over: Annotated[
        Natural,
        explained("Tool results longer than this many characters are masked. 0 means never."),
    ] = 0
    offer_drops: Annotated[
        Natural,
        explained(
            "When the tool results of older turns have more tokens than this, the model is told "
            "that it can drop them. 0 means never."
        ),
    ] = 0
    levels: Annotated[
        tuple[Share, Share, Share], explained("Fractions of the window at which Sapwood warns.")
    ] = (0.5, 0.65, 0.85)
    system: Annotated[str, explained("System prompt for new conversations.")] = ""
    default_prompt: Annotated[
        bool, explained("Whether to tell the model the folder, date, system and git branch.")
    ] = True
    instructions: Annotated[
        bool, explained("Whether to give the model the workspace's AGENTS.md and CLAUDE.md.")
    ] = True
    summary_cap: Annotated[
        Natural, explained("Maximum number of tokens in a summary. 0 means no limit.")
    ] = _DEFAULTS.summary_cap
    summary_score: Annotated[
        float,
        Meta(ge=0, le=1),
        explained("Fraction of the checked facts that a summary must contain."),
    ] = _DEFAULTS.summary_score
    extend_summary: Annotated[
        bool, explained("Whether turns that drop out of the window are added to the summary.")
    ] = _DEFAULTS.extend_summary
    provider_summary: Annotated[
        bool, explained("Whether providers that support it write compaction summaries themselves.")
    ] = _DEFAULTS.provider_summary
    bring_tokens: Annotated[
        Natural,
        explained(
            "A turn out of view of at most this many tokens comes back automatically when a "
            "prompt mentions something that only this turn contains. 0 means that it is only "
            "offered."
        ),
    ] = 0


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What the agents of one conversation may spend and start; 0 for no limit."""

    cost: Annotated[
        NotNegative,
        explained("Budget in dollars for an agent and its descendants. 0 means no limit."),
    ] = _DEFAULTS.budget_cost
    calls: Annotated[
        Natural,
        explained(
            "Maximum number of model calls by an agent and its descendants. 0 means no limit."
        ),
    ] = _DEFAULTS.budget_calls
    depth: Annotated[Natural, explained("Maximum depth of child agents. 0 means no limit.")] = (
        _DEFAULTS.budget_depth
    )
    agents: Annotated[
        Natural,
        explained(
            "Maximum number of agents that run at once in one conversation. 0 means no limit."
        ),
    ] = _DEFAULTS.budget_agents
    turns: Annotated[
        Natural,
        explained(
            "Maximum number of turns in a row without a prompt from a person. 0 means no limit."
        ),
    ] = _DEFAULTS.budget_turns
    turn_calls: Annotated[
        Natural, explained("Maximum number of model calls in one turn. 0 means no limit.")
    ] = _DEFAULTS.budget_turn_calls


class TendingConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What Sapwood does for Claude Code and Codex."""

    budget: Annotated[
        Natural,
        explained("Maximum number of tokens that a hook adds after a compaction. 0 means none."),
    ] = 2_000
    subagent_budget: Annotated[
        Natural,
        explained("Maximum number of tokens that a hook adds for a subagent. 0 means none."),
    ] = 500
    after_clear: Annotated[bool, explained("Whether a hook also adds a recap after /clear.")] = (
        False
    )
    all_projects: Annotated[
        bool, explained("Whether the MCP tool `context` may read other projects.")
    ] = False
    judge: Annotated[
        str,
        explained(
            "What judges chapters and decisions in the background: a model, claude-code, codex or "
            "off."
        ),
    ] = "off"
    judge_cost: Annotated[
        NotNegative,
        explained("Budget in dollars for judging one session. 0 means no limit."),
    ] = 0.1


class CompactionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When Claude Code and Codex compact, and what their summaries must keep."""

    automatic: Annotated[
        Literal["on", "off", "ask"],
        explained(
            "Whether Claude Code compacts automatically. With `ask`, Sapwood asks you when the "
            "window is almost full. Codex always compacts."
        ),
    ] = "on"
    at: Annotated[
        Natural,
        explained(
            "Number of tokens at which Claude Code and Codex compact. 0 leaves it to the program."
        ),
    ] = 0
    keep: Annotated[
        str, explained("What the summary must keep, in your words. Given to Claude Code.")
    ] = ""


class ScreenConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How the terminal screen looks and behaves."""

    theme: Annotated[
        str, explained("Color theme of the terminal UI. F4 switches to the next one.")
    ] = "sapwood-dark"
    mouse: Annotated[
        bool, explained("Whether the terminal UI uses the mouse. F2 toggles it temporarily.")
    ] = True
    bell: Annotated[
        bool,
        explained(
            "Whether the terminal bell rings after long turns and when a tool needs approval."
        ),
    ] = True
    print_on_leaving: Annotated[
        bool, explained("Whether to print the conversation when you quit the terminal UI.")
    ] = False
    keys: Annotated[dict[str, str], explained("Custom key for an action. F1 lists the names.")] = {}


class CheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How files are saved around turns, for /revert."""

    enabled: Annotated[
        bool,
        explained(
            "Whether files are saved before and after each turn, so that /revert can restore them."
        ),
    ] = True
    largest: Annotated[
        Natural, explained("Size of the largest file to include in a checkpoint, in bytes.")
    ] = 10_000_000


class McpServer(Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools agents may use: a command to start, or a URL.

    It acts as the operator, so agents of spaces with a folder of their own, or without any, get its
    tools only if it is for all `spaces`.
    """

    command: Annotated[
        tuple[str, ...], explained("Command that starts the server, as a list of arguments.")
    ] = ()
    url: Annotated[str, explained("The address of the server, instead of a command.")] = ""
    env: Annotated[
        dict[str, str], explained("Environment variable for the command. Its value is not shown.")
    ] = {}
    headers: Annotated[
        dict[str, str], explained("HTTP header to send to the URL. Its value is not shown.")
    ] = {}
    client_id: Annotated[
        str,
        explained(
            "Client id for `sapwood mcp login`, if the server does not register programs "
            "automatically."
        ),
    ] = ""
    enabled_tools: Annotated[
        tuple[str, ...],
        explained(
            "The only tools that agents get, by their names on the server.", example='["search"]'
        ),
    ] = ()
    disabled_tools: Annotated[
        tuple[str, ...],
        explained("Tools that agents do not get.", example='["delete_repository"]'),
    ] = ()
    spaces: Annotated[
        bool, explained("Whether agents in other people's spaces get its tools too.")
    ] = False


HookEvent = Literal["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop"]
"""The events of a conversation at which commands of the person run, by Claude Code's names."""


class HookConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A command of yours at an event of a conversation, as hooks of Claude Code are run."""

    event: Annotated[
        HookEvent,
        explained(
            "When it runs: PreToolUse, PostToolUse, UserPromptSubmit, SessionStart or Stop. The "
            "terminal UI reads Stop hooks when it opens."
        ),
    ] = "PreToolUse"
    command: Annotated[
        str, explained("Command line. It gets JSON on stdin; exit code 2 blocks.")
    ] = ""
    matcher: Annotated[
        str, explained("Tools that it applies to, as a regular expression. Empty means all.")
    ] = ""
    seconds: Annotated[NotNegative, explained("Timeout in seconds.")] = 60.0


class LimitConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How many agents run at once, and how many deaths a turn survives; 0 for no limit."""

    per_model: Annotated[
        Natural,
        explained(
            "Maximum number of agents that run at once with one model, across all workers. 0 "
            "means no limit."
        ),
    ] = 0
    per_user: Annotated[
        Natural,
        explained(
            "Maximum number of one owner's agents that run at once, across all workers. 0 "
            "means no limit."
        ),
    ] = 0
    per_space: Annotated[
        Natural,
        explained(
            "Maximum number of one space's agents that run at once, across all workers. 0 "
            "means no limit."
        ),
    ] = 0
    share: Annotated[
        Natural,
        explained(
            "Maximum number of one space's agents that one worker runs at once. 0 means no limit."
        ),
    ] = 0
    deaths: Annotated[
        int,
        Meta(ge=0, le=100),
        explained(
            "How many processes may die while they run the same turn; then it fails. 0 means any "
            "number, for machines that are often taken away."
        ),
    ] = 4


class RetentionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that workers carry out: what happens to idle conversations."""

    days: Annotated[Positive, explained("Days without an event after which the rule applies.")]
    spaces: Annotated[str, explained("Spaces that the rule applies to; * and ? are wildcards.")] = (
        "*"
    )
    label: Annotated[str, explained("Only conversations with this label. Empty means all.")] = ""
    owner: Annotated[str, explained("Only this owner's conversations. Empty means all.")] = ""
    erase: Annotated[bool, explained("Whether to erase the conversations.")] = False
    archive: Annotated[str, explained("Object storage address to move the conversations to.")] = ""

    def __post_init__(self) -> None:
        if self.erase == bool(self.archive):
            raise ValueError("a rule needs either erase = true or an archive address, but not both")


class EncryptionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Which new spaces are stored encrypted, and with which master key."""

    key_file: Annotated[
        str,
        explained(
            "File with the master keys for encrypted spaces; sapwood keys --new creates one. "
            "Empty means SAPWOOD_ENCRYPTION_KEY, or no encryption."
        ),
    ] = ""
    spaces: Annotated[str, explained("Which new spaces are encrypted; * and ? are wildcards.")] = (
        "*"
    )


class CellConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of several cells this database is, and the table of their routers."""

    name: Annotated[
        str, explained("Name of this database's cell, as the routers know it. Empty means none.")
    ] = ""
    directory: Annotated[
        str,
        explained(
            "PostgreSQL address of the routers' table. A space that the table assigns to another "
            "cell is refused here, as after a restore from an old backup. Empty turns this off."
        ),
    ] = ""


class TelemetryConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Spans for OpenTelemetry."""

    endpoint: Annotated[
        str, explained("Where to send OpenTelemetry spans. Empty means nowhere.")
    ] = ""
    content: Annotated[bool, explained("Whether spans include the text of the conversation.")] = (
        False
    )


class TemporalConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The Temporal server of `engine = "temporal"`.

    What is left empty comes from Temporal's own settings: the environment variables TEMPORAL_…, or
    the `profile` of its file temporal.toml. The API key is read only from there.
    """

    address: Annotated[
        str, explained("Host and port of the Temporal server. Empty means TEMPORAL_ADDRESS.")
    ] = ""
    namespace: Annotated[
        str, explained("The namespace in Temporal. Empty means TEMPORAL_NAMESPACE.")
    ] = ""
    task_queue: Annotated[
        str, explained("The task queue in Temporal. Each database needs a different one.")
    ] = "sapwood"
    profile: Annotated[
        str, explained("Profile in temporal.toml that supplies the settings left empty here.")
    ] = ""
    tls: Annotated[
        Literal["auto", "on", "off"],
        explained("Whether the connection is encrypted. With auto, the other settings decide."),
    ] = "auto"
    server_name: Annotated[str, explained("The name that the server's certificate must have.")] = ""
    server_ca: Annotated[
        str, explained("PEM file with the CA certificate used to verify the server.")
    ] = ""
    client_cert: Annotated[
        str, explained("PEM file with the client certificate that Sapwood presents to the server.")
    ] = ""
    client_key: Annotated[str, explained("PEM file with the private key for that certificate.")] = (
        ""
    )


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured."""

    database: Annotated[
        str, explained("Where conversations are stored: a path, or postgresql://… for a team.")
    ] = ""
    server: Annotated[
        str,
        explained(
            "Address of a Sapwood server whose conversations to use: https://… Empty means none."
        ),
    ] = ""
    space: Annotated[
        str,
        explained(
            "Space that holds your conversations in the database. Other spaces are not visible."
        ),
    ] = "local"
    model: Annotated[
        str,
        explained("Model for new conversations, such as claude-sonnet-5-5 or openai:gpt-5."),
    ] = ""
    title_model: Annotated[
        str,
        explained(
            "Model that writes the title of a conversation after its first answer; 'same' uses the "
            "conversation's model. Empty uses the beginning of the first prompt. The terminal UI "
            "reads this when it opens."
        ),
    ] = ""
    fallback_models: Annotated[
        tuple[str, ...],
        explained(
            "Models to continue with, in this order, when a provider is overloaded or "
            "unreachable, or refuses the key."
        ),
    ] = ()
    base_urls: Annotated[
        dict[str, str],
        explained("Address of a provider, or of your own server with an OpenAI-compatible API."),
    ] = {}
    context: ContextConfig = ContextConfig()
    budget: BudgetConfig = BudgetConfig()
    tending: TendingConfig = TendingConfig()
    compaction: CompactionConfig = CompactionConfig()
    screen: ScreenConfig = ScreenConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    permissions: Annotated[
        tuple[str, ...],
        explained(
            'Rules for tools, such as "allow shell(git *)" or "deny read_file(.env)".',
            example='["allow shell(git *)"]',
        ),
    ] = ()
    sandbox: Annotated[
        Literal["auto", "on", "off"],
        explained("Whether a model's shell commands run in a sandbox."),
    ] = "auto"
    sandbox_network: Annotated[
        bool, explained("Whether sandboxed shell commands may use the network.")
    ] = False
    sandbox_ask: Annotated[
        bool, explained("Whether shell commands that stay in the sandbox need approval too.")
    ] = False
    sandbox_readable: Annotated[
        tuple[str, ...],
        explained("Folders in your home directory that sandboxed shell commands may read."),
    ] = ()
    permission_mode: Annotated[
        PermissionMode,
        explained(
            "What tools may do when no rule applies: ask, accept-edits, plan, read-only or all."
        ),
    ] = "ask"
    servers: Annotated[
        dict[str, McpServer],
        explained(
            "An MCP server whose tools agents may use: a command to start, or a URL.",
            example='{command = ["files", "--here"]}',
        ),
    ] = field(default_factory=dict[str, McpServer])
    hooks: Annotated[
        dict[str, HookConfig],
        explained(
            "A command that runs before or after tool calls, or before a prompt.",
            example='{event = "PreToolUse", matcher = "shell", command = "check-command"}',
        ),
    ] = field(default_factory=dict[str, HookConfig])
    tools: Annotated[
        tuple[str, ...],
        explained("Tools of plug-ins that agents may use.", example='["weather"]'),
    ] = ()
    engine: Annotated[
        str,
        explained(
            "Engine that decides which process runs an agent: auto, local, temporal, or that "
            "of a plug-in. With auto, each process runs the agents that it gives work to, and "
            "workers run all others. With local, there are no workers."
        ),
    ] = "auto"
    temporal: TemporalConfig = TemporalConfig()
    workers: Annotated[int, Meta(ge=1), explained("How many agents run at once.")] = 100
    limits: LimitConfig = LimitConfig()
    ask_seconds: Annotated[
        Natural,
        explained("Seconds until a tool call that nobody answers is denied. 0 means wait forever."),
    ] = 0
    telemetry: TelemetryConfig = TelemetryConfig()
    encryption: EncryptionConfig = EncryptionConfig()
    cell: CellConfig = CellConfig()
    serve: ServeConfig = ServeConfig()
    retention: Annotated[
        dict[str, RetentionConfig],
        explained(
            "Rule by which workers erase or archive idle conversations.",
            example="{days = 90, erase = true}",
        ),
    ] = field(default_factory=dict[str, RetentionConfig])
    retention_hours: Annotated[
        Positive, explained("Hours between a worker's checks for idle conversations.")
    ] = 6.0
    receipt_days: Annotated[
        Natural,
        explained(
            "Days after which workers on PostgreSQL delete the receipts of Sapwood's own commands. "
            "Receipts of ids that clients chose are kept. 0 means never."
        ),
    ] = 30
    folders: Annotated[
        dict[str, str],
        explained(
            "Folder that a space's agents work in, by the name of the space. * means every other "
            "space, with {space} in the path; any lets your own space use all folders.",
            example='"/srv/acme"',
        ),
    ] = {}
    folders_network: Annotated[
        bool, explained("Whether shell commands in these folders may use the network.")
    ] = False

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
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not valid UTF-8 text.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def parse_config(text: str, file: Path) -> Config:
    """Parses a configuration; errors name `file`. Raises `ConfigError`."""
    try:
        return msgspec.convert(_tables(text, file) if text else {}, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file} is not valid: {_problem(error)}") from error


def _problem(error: msgspec.ValidationError) -> str:
    """What is wrong; for a setting that does not exist, with the nearest ones."""
    found = _UNKNOWN_SETTING.fullmatch(str(error))
    if found is None:
        return f"{error}."
    from sapwood.config.known_settings import unknown_setting

    return unknown_setting(".".join(filter(None, (found["table"], found["name"]))), Config)


_UNKNOWN_SETTING = re.compile(
    r"Object contains unknown field `(?P<name>[^`]+)`(?: - at `\$\.(?P<table>[^`]+)`)?"
)


def _tables(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    from sapwood.config.toml_edit import parse_toml

    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from error


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
        private_folder(folder)
    except OSError as error:
        raise LogError(
            f"The folder {folder} cannot be created: {error.strerror}. "
            "Name a database elsewhere with --database or SAPWOOD_DATABASE."
        ) from error
