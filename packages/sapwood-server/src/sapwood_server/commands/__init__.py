"""The commands that the server adds to the command line: `serve`, `token` and `login`."""
