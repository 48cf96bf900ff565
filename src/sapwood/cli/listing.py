"""The sub-commands: their names, and one line on each, known without importing any of them."""

__all__ = ["SECTIONS", "lines", "nearest_names"]

SECTIONS: dict[str, dict[str, str]] = {
    "Talk": {
        "open": "Open a conversation on the whole screen",
        "run": "Ask a model, or play a script of commands and text",
        "do": "Give an agent slash commands, such as /mark X",
        "send": "Send mail to an agent",
    },
    "Look": {
        "agents": "List agents",
        "show": "Show a conversation as the model sees it, or one event",
        "context": "Tend a session's context: see what fills it, focus, archive, hand it off",
        "log": "Show an agent's events",
        "search": "Search everything ever said",
        "replay": "Show what the model was sent at a call, checked by hash",
        "diff": "Show what differs between two contexts",
        "export": "Write a conversation as Markdown, text or JSON",
    },
    "Steer": {
        "fork": "Make a child that sees what its parent sees",
        "compact": "Put a checked summary in place of the history",
        "interrupt": "Stop an agent's open turn and keep what is there",
        "kill": "End an agent and all its descendants",
    },
    "Other agents": {
        "import": "Import conversations of Claude Code, Codex and Gemini CLI",
        "install": "Connect Sapwood with Claude Code or Codex",
        "uninstall": "Take Sapwood out of Claude Code and Codex, or out of one of them",
        "journal": "Show every act that Sapwood took on your behalf",
        "hook": "Answer a hook or the status line of Claude Code or Codex",
    },
    "Set up": {
        "config": "Show or change the configuration",
        "doctor": "Say what is set up and works, and what to type next",
        "mcp": "Serve the tools context and slash to other programs, by MCP",
        "worker": "Run the agents of a database until stopped",
        "completion": "Print a script that completes commands in a shell",
    },
}


def lines() -> dict[str, str]:
    """The line on each sub-command, in order."""
    return {name: line for section in SECTIONS.values() for name, line in section.items()}


def nearest_names(word: str) -> list[str]:
    """Sub-commands that somebody who typed `word` may have meant."""
    from difflib import get_close_matches

    return get_close_matches(word, list(lines()), n=3, cutoff=0.5)
