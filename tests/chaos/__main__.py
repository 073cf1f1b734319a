"""`python -m tests.chaos`. What a replica's process need not load, for this file is run again in each, is in command.py."""

import sys

if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
