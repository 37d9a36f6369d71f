"""`python -m stawm` is `stawm`."""

import sys

from stawm.cli import main

if __name__ == "__main__":
    sys.exit(main())
