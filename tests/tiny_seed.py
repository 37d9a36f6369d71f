"""By how much the seeds of all tests are shifted: STAWM_TEST_SEED, else 0."""

import os

SHIFT = int(os.environ.get("STAWM_TEST_SEED", "0"))
