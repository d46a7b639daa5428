"""`python -m hostile`."""

from hostile.cli import main

main()
