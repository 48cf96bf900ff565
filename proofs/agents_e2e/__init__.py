"""The real Claude Code and Codex, tended from end to end, against a scripted model.

They run in a home of their own, where there is no network but loopback. Sapwood is installed by its
own command, as a user would; what the model was sent, what lies in the files and what the programs
said decides.
"""
