"""Speech: what was decided and what was asked, found in the sentences of people and models.

By rules and without a model: what they miss is in the log all the same.
"""
