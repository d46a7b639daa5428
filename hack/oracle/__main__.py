"""`python -m oracle`."""

from oracle.run import main

main()
