"""Three stores for the log: in memory, in an SQLite file, in a PostgreSQL database.

All three pass the same contract suite (`tests/store/test_contract_*.py`).
"""
