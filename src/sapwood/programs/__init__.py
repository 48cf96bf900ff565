"""The agent programs that Sapwood works with. A folder has all that differs in one program.

`program.py` describes the value that each folder contains, `registry.py` finds it by name.
"""
