"""The wire formats of providers: writing requests, reading answers, and the HTTP client.

Each format has two modules: `…_request` writes a call, `…_answer` reads the events of its answer.
Both are pure. Imported at the first call.
"""
