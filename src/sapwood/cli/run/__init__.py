"""Runs conversations from a shell: `sapwood run`, `sapwood do`, and how signals stop them."""
