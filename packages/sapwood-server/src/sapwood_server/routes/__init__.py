"""The HTTP API: one route for each command, reads, files, and the log for remote clients."""
