"""Who may do what: tokens, issuers, limits, and the checks of each request."""
