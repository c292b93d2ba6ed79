"""Run the command line as ``python -m inweights``."""

import sys

from inweights.cli import main

sys.exit(main())
