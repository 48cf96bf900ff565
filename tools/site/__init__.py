"""The documentation as a site with search: `just site`."""
