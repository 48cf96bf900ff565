"""The server: every conversation over HTTP and in a browser, from one table of routes."""
