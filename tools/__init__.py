"""What the project needs around its code and does not ship."""
