"""Attacks on the server over real HTTP, and on its page in a real browser."""
