"""The pictures in docs/images: `python -m tools.pictures` makes them from scripted conversations.

Nothing is drawn by hand: each picture is the real screen with a scripted conversation.
`python -m tools.pictures.program_recording` records the real Claude Code and Codex.
"""
