"""The screen in a real terminal: a whole working day in tmux, against the scripted model."""
