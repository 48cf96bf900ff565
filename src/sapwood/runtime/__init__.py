"""The runtime: commands in, events out. Loads, decides, commits; nobody else writes to a log."""
