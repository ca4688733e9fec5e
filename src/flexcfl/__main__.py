"""``python -m flexcfl`` is the command ``flexcfl``."""

import sys

from flexcfl.cli import main

if __name__ == "__main__":
    sys.exit(main())
