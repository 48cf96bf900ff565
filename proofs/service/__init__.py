"""A service with many tenants: three workers for all spaces, one database, and twelve faults.

app.py      what the workers run: `sapwood worker --app proofs.service.app:runtime --spaces '*'`
cell.py     what a fault can reach: the database, the ways to it, the workers, the tenants
load.py     the tenants: prompts at a steady rate, and one tenant that floods
workers.py  the workers: killed, replaced, started again
proxy.py    the network between a process and the database
faults.py   the faults by their names
costs.py    commits, WAL, CPU and connections
stages.py   where the time of a turn went, and which model calls were sent again
checks.py   what must hold afterwards, read from the log
"""
