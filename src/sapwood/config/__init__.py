"""Configuration: the file, API keys, folders and the database address."""
