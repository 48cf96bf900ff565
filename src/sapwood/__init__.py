"""Sapwood: everything is kept; you decide what the model sees."""
