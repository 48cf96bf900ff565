"""The screen: a conversation to live in, in a terminal. Needs the extra `tui`.

`rows/` derives what is shown from events and knows no terminal; `transcript/` draws rows;
`composer/` takes what is typed; `desk.py` carries it out; `screens/` are pages over the
conversation; `inline/` prints the same rows into the terminal's scrollback. All of it reads the
log and none of it keeps a truth of its own.
"""
