"""Finds and reads the transcripts of agent programs, without changing them."""
