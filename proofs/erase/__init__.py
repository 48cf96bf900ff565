"""The proof that what was erased is nowhere: generated histories, erasures, a search for markers.

history.py   makes conversations with forks, mail, shared long texts, quotations and snapshots
eraser.py    the process that erases; it can be told to die in the middle
reader.py    the process that has agents in memory meanwhile
survey.py    what can be read of the agents that stay, before and after
raw_search.py    searches raw files, checkpoints and the dump for markers
"""
