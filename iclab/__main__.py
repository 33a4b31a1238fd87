"""`python -m iclab` is the `iclab` command."""

from iclab.cli import main

raise SystemExit(main())
