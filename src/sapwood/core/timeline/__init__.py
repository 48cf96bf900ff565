"""The timeline: the rows that every face shows of a conversation, derived once from its events.

`timeline` folds events into rows, `layout` decides which of them are shown, `row_content` looks up
the content of a row, `row_labels` has the labels that faces share. Rows hold places in logs, no
text.
"""
