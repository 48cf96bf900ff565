"""Analysis of a conversation without a model: ledger, chapters, tokens, resumption prompt."""
