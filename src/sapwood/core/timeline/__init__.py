"""The timeline: the rows that every face shows of a conversation, derived once from its events.

`timeline` folds events into rows, `layout` decides which of them are shown, `row_content` looks up
what a row says, `row_labels` has the words that faces share. Rows hold places in logs, not text.
"""
