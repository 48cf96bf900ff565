"""Tests the screen in a real terminal: a whole session in tmux, with the scripted model."""
