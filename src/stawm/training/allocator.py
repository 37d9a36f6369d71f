"""Memory that a step gives back is kept for the next one, instead of being returned to the system and fetched anew.

glibc returns every block above 32 MB, and the top of its heap, as soon as they are free. A training step frees and
takes hundreds of megabytes, and each time the system clears every page again: up to half of the time of a step.
PyTorch's own advice for CPUs is another allocator (jemalloc, tcmalloc); two settings of glibc's do the same.
"""

import ctypes
import os
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""M_TRIM_THRESHOLD and M_MMAP_MAX of glibc's <malloc.h>."""
NEVER, NONE = -1, 0


def keep_freed_memory() -> bool:
    """Let this process keep what it frees; whether it does. Nothing happens where the allocator is not glibc's.

    Whoever sets the allocator by the environment (MALLOC_…, GLIBC_TUNABLES, LD_PRELOAD) has chosen already.
    """
    if any(name.startswith("MALLOC_") or name in ("GLIBC_TUNABLES", "LD_PRELOAD") for name in os.environ):
        return False
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(TRIM_THRESHOLD, NEVER)) and bool(mallopt(MMAP_MAX, NONE))
