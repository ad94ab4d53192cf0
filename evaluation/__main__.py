"""`python -m evaluation`."""

import sys

from evaluation.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
