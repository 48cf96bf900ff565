"""A rolling upgrade: workers of an older version and of this one share a database under load.

    just rolling-upgrade [--old REVISION] [--seconds N] [--agents N]

The older version is a wheel, built from its revision of this repository and installed with the
libraries that it pinned in an environment of its own. By default it is the newest tag or, without
tags, the last commit before tenants and Temporal. Its workers and a client of it begin. Then this
version migrates the database, its workers and a client of it join, and the old workers leave one by
one. Every prompt must be answered exactly once, and no process may report an error.
"""
