"""opencode: its facts in `program.py`, and a module for each thing that Sapwood does with it."""
