"""Claude Code as a value."""

from sapwood.programs.program import Program

PROGRAM = Program(
    name="claude-code",
    title="Claude Code",
    short_title="Claude",
    package="sapwood.programs.claude_code",
    executable="claude",
    executable_variable="SAPWOOD_CLAUDE",
    home_variable="CLAUDE_CONFIG_DIR",
    home_folder=".claude",
    session_variable="CLAUDE_CODE_SESSION_ID",
    resume="claude --resume",
    transcript_names=r".+\.jsonl",
    asked_last=True,
    parts=("sessions", "sent_requests", "provider", "single_answer", "installer", "hooks"),
    install="npm install -g @anthropic-ai/claude-code, or pip install claude-agent-sdk",
    log_in="claude, then /login",
    installed_note="Watch the status line, or type !sapwood context.",
    has_status_line=True,
    tools={
        "Bash": "shell",
        "Write": "write_file",
        "Edit": "edit_file",
        "MultiEdit": "edit_file",
        "NotebookEdit": "edit_file",
        "Read": "read_file",
        "NotebookRead": "read_file",
        "LS": "list_files",
        "Glob": "list_files",
        "Grep": "search_files",
        "TodoWrite": "changes_nothing",
        "ToolSearch": "changes_nothing",
        "WebFetch": "changes_nothing",
        "WebSearch": "changes_nothing",
    },
)
