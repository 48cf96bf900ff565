"""Transcripts damaged at random: nothing crashes, nothing good is lost, nothing is written."""
