"""opencode as a value."""

from sapwood.programs.program import Program

PROGRAM = Program(
    name="opencode",
    title="opencode",
    short_title="opencode",
    package="sapwood.programs.opencode",
    executable="opencode",
    executable_variable="SAPWOOD_OPENCODE",
    home_variable="XDG_DATA_HOME",
    variable_folder="opencode",
    home_folder=".local/share/opencode",
    resume="opencode --session",
    transcript_names=r"ses_[0-9A-Za-z]+",
    parts=("sessions", "provider", "probe"),
    install="npm install -g opencode-ai",
    log_in="opencode auth login",
    probe_seconds=120.0,  # it is started three times, and each start takes seconds of CPU
    tools={
        "bash": "shell",
        "write": "write_file",
        "edit": "edit_file",
        "patch": "edit_file",
        "apply_patch": "edit_file",
        "read": "read_file",
        "list": "list_files",
        "glob": "search_files",
        "grep": "search_files",
        "todowrite": "changes_nothing",
        "todoread": "changes_nothing",
    },
)
