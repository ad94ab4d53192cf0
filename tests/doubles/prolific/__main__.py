"""`python -m tests.doubles.prolific`: serve the double."""

from .server import main

main()
