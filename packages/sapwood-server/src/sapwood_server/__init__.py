"""The server: every conversation over HTTP and in a browser, from one table of routes.

application.py      the table of routes, and the guard before each of them
http_server.py      starts and stops the server
request_context.py  one request, and the rows of the table
access/             who may do what: tokens, issuers, limits, and the checks of each request
routes/             the API: a route for each command, reads, files, the log for remote clients
protocols/          clients of other protocols: OpenAI Responses, AG-UI and MCP
page/  static/      the web page: HTML that is rendered here, scripts and style
event_feed.py       server-sent events of one conversation
space_feed.py       server-sent events of a space
event_stream.py     what event streams share
"""
