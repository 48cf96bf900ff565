"""Topics: what each turn is about, found by rules without a model or a library.

Turns become weighted words. Small talk is separated first; then each turn is on the original task
or off it; the turns off the task are grouped into topics; each topic gets a name.
"""
