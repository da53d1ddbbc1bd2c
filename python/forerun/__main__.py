"""``python -m forerun``, and the console script ``forerun``."""

from __future__ import annotations

import sys

from forerun._command import main

if __name__ == "__main__":
    sys.exit(main())
