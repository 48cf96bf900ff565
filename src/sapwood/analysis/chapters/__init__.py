"""Chapters: the stretches of a session that are about one subject, found without a model.

A border between two turns is found by form: other words, time that passed. A later stretch with
the words or files of an earlier chapter continues that chapter. A chapter is named by the
first words that the user typed in it. Nothing here says whether a chapter serves the task; only
people and judges do.
"""
