"""Neutral messages to and from pydantic-ai's. Pure; imported at the first call."""
