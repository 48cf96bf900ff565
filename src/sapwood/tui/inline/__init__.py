"""The conversation in the terminal's own scrollback, for `sapwood --inline`.

What is finished is printed for good; what is not stands in a small live area below. Rows, painter,
composer and pages are those of the full screen. `tape.py` says what is printed when,
`scrollback.py` how it is written to a terminal; `app.py` alone knows how Textual draws below a
prompt.
"""
