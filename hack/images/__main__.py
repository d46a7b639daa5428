"""Runs the command line: `python -m images build`."""

import sys

from images.cli import main

sys.exit(main(sys.argv[1:]))
