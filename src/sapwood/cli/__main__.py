"""Runs `python -m sapwood.cli`, for use where `sapwood` is not on the path."""

from sapwood.cli import main

if __name__ == "__main__":
    main()
