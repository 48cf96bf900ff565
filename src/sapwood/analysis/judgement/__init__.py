"""A model as judge: what it is asked, how its answer is read, and where its words stand.

Its words stand above what rules derive and below what people and agents declare. They are never
trusted: they are bounded, and a sentence keeps its original words unless the new ones are in the
conversation.
"""
