"""`python -m supply sbom|audit`."""

from supply.cli import main

raise SystemExit(main())
