"""Chapters: the stretches of a session that are about one subject, found without a model.

A border between two turns is found by form: words that announce a change, new words, other files,
time that passed. A later stretch about the subject of an earlier chapter continues that chapter.
Nothing here says whether a chapter serves the task; only people, their words and judges do.
"""
