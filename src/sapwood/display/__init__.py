"""How values are worded wherever people read them: text, moments, money, the tree of agents.

Pure, and the same on every face, so that a shell and a screen never tell different stories.
"""
