"""Scripts: what the model answers, written in the prompt or in Python."""
