"""pi as a value."""

from sapwood.programs.program import Program

PROGRAM = Program(
    name="pi",
    title="pi",
    short_title="pi",
    package="sapwood.programs.pi",
    executable="pi",
    executable_variable="SAPWOOD_PI",
    home_variable="PI_CODING_AGENT_DIR",
    home_folder=".pi/agent",
    session_variable="PI_SESSION_ID",
    own_variables=("PI_CODING_AGENT", "PI_SESSION_ID", "PI_SESSION_FILE"),
    resume="pi --session",
    transcript_names=r"\d{4}-\d\d-\d\dT[\d-]+Z_.+\.jsonl",
    parts=("sessions", "provider", "probe", "single_answer", "installer", "hooks"),
    install="npm install -g @earendil-works/pi-coding-agent",
    log_in="pi, then /login",
    own_command="/sapwood:{}",
    project_settings=".pi/settings.json",
    tools={
        "bash": "shell",
        "powershell": "shell",
        "write": "write_file",
        "edit": "edit_file",
        "read": "read_file",
        "ls": "list_files",
        "find": "list_files",
        "grep": "search_files",
    },
)
