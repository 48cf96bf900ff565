"""The scenes. Each tests one promise of the product, in any wire format."""
