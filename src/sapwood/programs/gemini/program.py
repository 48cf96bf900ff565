"""Gemini CLI as a value. Its sessions can be read, and are not changed."""

from sapwood.programs.program import Program

PROGRAM = Program(
    name="gemini",
    title="Gemini CLI",
    short_title="Gemini",
    package="sapwood.programs.gemini",
    executable="gemini",
    home_variable="GEMINI_CLI_HOME",
    variable_folder=".gemini",
    home_folder=".gemini",
    resume="gemini --resume",
    transcript_names=r"session-.*\.jsonl?",
    parts=("sessions",),
)
