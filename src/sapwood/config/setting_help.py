"""What each setting of the configuration does, in a sentence or two."""

__all__ = ["setting_help"]

_HELP = {
    "database": "Where conversations are stored: a path, or postgresql://… for a team.",
    "server": "The address of a server whose conversations are used: https://… Empty for none.",
    "space": "The space of your conversations in the database. Nothing of another space is seen.",
    "model": "The model of new conversations, such as claude-sonnet-5-5 or openai:gpt-5.",
    "base_urls": "The address of a provider, or of a server of your own with the OpenAI API.",
    "context.cap": "Tokens of history that the model sees at most. 0 means no limit.",
    "context.low_water": (
        "How much of the cap is left when old turns leave view. A smaller share keeps the "
        "provider's cache longer."
    ),
    "context.mask_over": "Tool results of more characters than this are masked. 0 masks none.",
    "context.levels": "Shares of the window at which Sapwood warns.",
    "context.system": "The system prompt of new conversations.",
    "context.default_prompt": "Whether the model gets folder, date, system and git branch.",
    "context.instructions": "Whether the model gets AGENTS.md and CLAUDE.md of the workspace.",
    "context.extend_summary": "Whether turns that leave the window are added to the summary.",
    "context": "What the model of a new conversation sees.",
    "tending.budget": "Tokens that a hook may add after a compaction. 0 means none.",
    "tending.subagent_budget": "Tokens that a hook may add for a subagent. 0 means none.",
    "tending.after_clear": "Whether a hook also adds a recap after a clear.",
    "tending.all_projects": "Whether the MCP tool context may read other projects.",
    "tending.judge": (
        "Who judges chapters and decisions in the background: a model, claude-code, codex or off."
    ),
    "tending.judge_cost": "Dollars that the judge may spend on one session. 0 means no limit.",
    "tending": "What Sapwood does for Claude Code and Codex.",
    "screen.theme": "The colours of the screen. F4 switches to the next theme.",
    "screen.mouse": "Whether the screen takes the mouse. F2 switches it for now.",
    "screen.bell": "Whether the terminal rings after long work, and when a tool asks.",
    "screen.print_on_leaving": "Whether the conversation is printed when you leave the screen.",
    "screen": "How the terminal screen looks and behaves.",
    "screen.keys": "Another key for an action, by the name that F1 lists.",
    "checkpoints.enabled": "Whether files are saved around each turn, so that /revert can go back.",
    "checkpoints": "How files are saved around turns, for /revert.",
    "checkpoints.largest": "The largest file that a checkpoint contains, in bytes.",
    "permissions": 'Rules for tools, such as "allow shell(git *)" or "deny read_file(.env)".',
    "permission_mode": (
        "What tools may do where no rule decides: ask, accept edits, only read, or do all."
    ),
    "ask_seconds": "How long a worker waits for a person who approves a tool call.",
    "sandbox": "Whether shell commands of a model run in a sandbox: auto, on or off.",
    "sandbox_network": "Whether shell commands in the sandbox may use the network.",
    "sandbox_readable": "Folders of your home that shell commands in the sandbox may read.",
    "servers": "MCP servers whose tools agents may use: a command to start, or a URL.",
    "workers": "How many agents run at once.",
    "limits": "How many agents run at once in all workers. 0 means no limit.",
    "limits.per_model": "The most agents that run at once with one model.",
    "limits.per_user": "The most agents of one owner that run at once.",
    "limits.per_space": "The most agents of one space that run at once.",
    "limits.share": "The most agents of one space that one worker runs.",
    "engine": "What decides which process drives an agent: auto, dbos, temporal or local.",
    "temporal.address": "Host and port of the Temporal server. Empty means TEMPORAL_ADDRESS.",
    "temporal.namespace": "The namespace in Temporal. Empty means TEMPORAL_NAMESPACE.",
    "temporal.task_queue": "The task queue in Temporal. Each database needs one of its own.",
    "temporal.profile": "The profile of temporal.toml that has the settings left empty here.",
    "temporal.tls": "Whether the connection is encrypted: auto, on or off.",
    "temporal.server_name": "The name that the server's certificate must have.",
    "temporal.server_ca": "The file of the certificate that the server is checked with.",
    "temporal.client_cert": "The file of the certificate that Sapwood shows the server.",
    "temporal.client_key": "The file of the key of that certificate.",
    "serve": "The server, `sapwood serve`.",
    "serve.oidc_issuer": "The OpenID Connect issuer whose tokens the server takes.",
    "serve.oidc_audience": "For whom tokens of the issuer must be made out.",
    "serve.oidc_name": (
        "The claim that names a person in the log. Empty means a verified e-mail address, else "
        "the subject."
    ),
    "serve.oidc_rules": (
        'Who of the issuer may do what where: "groups=engineering -> team: read, write".'
    ),
    "serve.rate": "Requests a second that one token may send. 0 means no limit.",
    "serve.burst": "Requests that one token may send at once.",
    "serve.space_rate": "Requests a second of all tokens of one space. 0 means no limit.",
    "serve.space_burst": "Requests of all tokens of one space at once.",
    "serve.streams": "Event streams that one token may have open in one server.",
    "retention": "Rules for idle conversations, which workers carry out: erase or archive.",
    "retention_hours": "Hours between two looks of a worker for idle conversations.",
    "encryption": "Which spaces are stored encrypted, and with which master key.",
    "encryption.key_file": (
        "The file with the master keys of encrypted spaces; sapwood keys --new makes one. Empty "
        "means SAPWOOD_ENCRYPTION_KEY, or no encryption."
    ),
    "encryption.spaces": "Which new spaces are encrypted: a name with * and ?.",
    "telemetry.endpoint": "Where spans for OpenTelemetry are sent. Empty means nowhere.",
    "telemetry.content": "Whether spans contain the conversation.",
    "budget": "What the agents of one conversation may spend and start. 0 means no limit.",
    "budget.cost": "Dollars that an agent and its descendants may spend.",
    "budget.calls": "Model calls that an agent and its descendants may make.",
    "budget.depth": "How many generations of children there may be.",
    "budget.agents": "How many agents one conversation may start.",
    "budget.turns": "Turns in a row that no person started.",
    "budget.turn_calls": "Model calls in one turn.",
}


def setting_help(name: str) -> str:
    """Explains a setting; a setting with a name of your own is explained by its group.

    >>> setting_help("screen.keys.sidebar")
    'Another key for an action, by the name that F1 lists.'
    """
    while name and name not in _HELP:
        name = name.rpartition(".")[0]
    return _HELP.get(name, "")
