"""Topics: what each turn is about, found without a model and without a library.

Turns become weighed words; small talk is set aside; what remains is the original task or not, by a
best path through the turns; what is not is grouped into topics and named.
"""
