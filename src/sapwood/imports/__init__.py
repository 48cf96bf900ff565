"""Imports transcripts of other programs into the log, as ordinary agents."""
