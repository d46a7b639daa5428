"""`python -m generate [--check]`."""

from generate.run import main

raise SystemExit(main())
