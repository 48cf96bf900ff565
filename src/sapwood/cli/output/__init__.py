"""Turns answers, events and reports into lines for a terminal, or JSON for programs."""
