"""Conversion between Sapwood's messages and pydantic-ai's. Pure; imported at the first call."""
