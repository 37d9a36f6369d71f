"""Damage to any file that is written or shipped is found or harmless: a little of `benchmarks/damage.py`."""

import random
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
damage = import_module("damage")
workshop = import_module("workshop")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("damage")
        patch.setenv("STAWM_CACHE", str(place / "work" / "cache"))
        patch.setattr(damage.mnist, "FILE", damage.mnist.FILE)
        patch.setitem(workshop.DATA_SETS._things, damage.PUBLISHED, damage.mnist.MNIST)
        yield damage.Workshop(place, twin=False)


READERS = {
    "checkpoint": damage.evaluated("cut"),
    "metrics.jsonl, finished": damage.tabled,
    "weights, config.json": damage.evaluated("run"),
    "manifest.json": damage.evaluated("home/tiny"),
    "ledger entry": damage.listed,
    "picture cache, .npy": damage.pixels(""),
    "embedded digits, .npz": damage.pixels("mnist-5k"),
    "published files": damage.pixels(damage.PUBLISHED),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_flipped_bit_is_found_or_harmless(shop: object, kind: str, monkeypatch: pytest.MonkeyPatch):
    one = replace(damage.KINDS[kind], readers=(READERS[kind],))
    monkeypatch.setattr(damage, "KINDS", {kind: one})
    [(_, counts)] = damage.campaign(shop, 1)
    assert counts["used"] == counts["traceback"] == 0
    assert counts["found"] + counts["harmless"] == 1


def test_the_verdicts():
    whole = damage.Seen(0, "usual\n", 1)
    assert damage.judged(damage.Seen(0, "usual\n", 1), whole) == damage.HARMLESS
    assert damage.judged(damage.Seen(0, "usual\n", 2), whole) == damage.USED
    assert damage.judged(damage.Seen(0, "stawm: mended\n", 1), whole) == damage.FOUND
    assert damage.judged(damage.Seen(4, "stawm: broken\n"), whole) == damage.FOUND
    assert damage.judged(damage.Seen(4, "two\nlines\n"), whole) == damage.TRACEBACK
    assert damage.judged(damage.Seen(1, "", fault="ValueError"), whole) == damage.TRACEBACK


@pytest.mark.parametrize("name", damage.DAMAGES)
def test_damage_changes_a_file(name: str):
    content, chance = bytes(range(256)) * 8, random.Random(0)
    spoilt = [damage.DAMAGES[name](content, chance) for _ in range(20)]
    assert all(one != content for one in spoilt)
    assert all(len(one) <= len(content) for one in spoilt)
    assert all(len(one) == len(content) for one in spoilt) or name in ("cut", "emptied")
