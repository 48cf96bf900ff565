"""Tool calls of any program, turned into operations on files and commands that ran."""
