"""Where logs are kept: in memory, in an SQLite file, in a PostgreSQL database.

Each passes the same contract suite and can take another's place.
"""
