"""Tests Sapwood with the real Claude Code and Codex, and a scripted model.

They run in their own home, with no network except loopback. Sapwood is installed with its own
command. The checks read the model's requests, the files and the output of the programs.
"""
