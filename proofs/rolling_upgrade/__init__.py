"""A rolling upgrade: workers of an older version and of this one share a database under load.

    just rolling-upgrade [--old REVISION] [--seconds N] [--agents N]

The older version is unpacked from its revision of this repository, by default from the newest tag
or, without tags, from the last commit before tenants and Temporal. Its workers and a client of it
begin. Then this version migrates the database, its workers and a client of it join, and the old
workers leave one by one. Every prompt must be answered exactly once, and no process may report an
error.
"""
