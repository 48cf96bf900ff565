"""`python -m sapwood.cli`, where the program itself is not on the path."""

from sapwood.cli import main

if __name__ == "__main__":
    main()
