"""The conversation in the scrollback of the terminal, for `sapwood --inline`.

Finished rows are printed into the scrollback. Unfinished rows are drawn in a live area below it.
Rows, painter, composer and pages are those of the full screen. `print_queue.py` decides what is
printed when, `scrollback.py` writes it to the terminal, and only `app.py` depends on how Textual
draws below a prompt.
"""
