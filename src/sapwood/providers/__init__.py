"""Agent providers: other programs that run turns, and whose sessions Sapwood changes."""
