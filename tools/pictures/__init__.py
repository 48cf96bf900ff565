"""The pictures in docs/images: `python -m tools.pictures` makes them from scripted conversations.

Nothing is drawn by hand: each picture is the real screen with a scripted conversation.
"""
