"""Codex as a value."""

from sapwood.programs.program import Program

PROGRAM = Program(
    name="codex",
    title="Codex",
    short_title="Codex",
    package="sapwood.programs.codex",
    executable="codex",
    executable_variable="SAPWOOD_CODEX",
    home_variable="CODEX_HOME",
    home_folder=".codex",
    session_variable="CODEX_THREAD_ID",
    resume="codex resume",
    transcript_names=r"rollout-.*",
    parts=(
        *("sessions", "provider", "probe", "session_writer"),
        *("single_answer", "installer", "hooks"),
    ),
    install="npm install -g @openai/codex, or pip install openai-codex",
    log_in="codex login",
    command_folder="prompts",
    skill_folder="skills",
    project_settings=".codex/config.toml",
    tools={
        "exec_command": "shell",
        "shell": "shell",
        "update_plan": "changes_nothing",
        "view_image": "changes_nothing",
        "web_search": "changes_nothing",
    },
)
