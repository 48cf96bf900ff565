"""The runtime: carries out commands and drives turns. Only the runtime writes to a log."""
