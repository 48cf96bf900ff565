"""An OpenID Connect issuer on loopback for tests: the npm package oidc-provider, in a process."""
