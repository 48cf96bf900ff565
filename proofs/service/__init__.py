"""A service with many tenants: three workers for all spaces, kills, a restart, and a flood.

app.py      what the workers run: `sapwood worker --app proofs.service.app:runtime --spaces '*'`
load.py     the tenants: prompts at a steady rate, and one tenant that floods
workers.py  the workers: every few seconds one of them is killed
checks.py   what must hold afterwards, read from the log
"""
