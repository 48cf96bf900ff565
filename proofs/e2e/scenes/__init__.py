"""The scenes: each plays one thing that the product promises, in whichever wire format."""
