"""The pictures in docs/images: `python -m tools.pictures` makes them from scripted conversations.

Nothing is drawn by hand and nothing is measured on a person's machine: each picture is the screen
itself, with a scripted conversation on it.
"""
