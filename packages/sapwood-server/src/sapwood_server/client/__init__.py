"""The client of `sapwood serve`: a log of another machine that is read over HTTP."""
