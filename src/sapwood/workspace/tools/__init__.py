"""How each tool works. Permissions are asked for elsewhere, before anything here runs."""
