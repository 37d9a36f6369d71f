"""What training frees is kept: the next step does not fetch its memory from the system again."""

import os
import platform
import subprocess
import sys

import pytest

from stawm.training.allocator import keep_freed_memory

FAULTS = """
import resource, statistics, sys, torch
from stawm.training.allocator import keep_freed_memory
def fetched():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(10 * 2**20)  # 40 MB: what is below 32 may be kept anyway.
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(statistics.median(fetched() for _ in range(9)))
assert keep_freed_memory()
print(statistics.median(fetched() for _ in range(40)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is not glibc's")
def test_freed_memory_is_used_again() -> None:
    """Pages that a block fetches from the system: the medians of several, one after another, as it is and when kept.

    The first few always do, until the heap has a hole of the right place and size.
    """
    chosen = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(chosen)}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    as_it_is, kept = map(float, done.stdout.split())
    assert as_it_is >= 18, "40 MB are 10,240 pages, or 20 large ones"
    assert kept < 10


@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD"])
def test_who_sets_the_allocator_has_chosen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert not keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
