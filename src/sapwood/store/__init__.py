"""Two stores for the log: in an SQLite file, and in a PostgreSQL database.

Both pass the same contract suite (`tests/store/test_contract_*.py`).
"""
