"""The terminal screens of Sapwood. They need the extra `tui`.

`launcher.py` starts them. `conversation_controller.py` connects them with the conversation service.
`conversation_view.py` shows a conversation and keeps it up to date; `conversation_screen.py` adds
keys and commands. `transcript/` draws the rows of the timeline, `composer.py` is the text field,
`screens/` holds the pages over the conversation, and `inline/` prints the same rows into the
scrollback of the terminal. All state comes from the log.
"""
