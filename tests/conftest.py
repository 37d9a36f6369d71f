"""Every test checks the shapes in signatures (jaxtyping with beartype), on one thread (or as many
as OMP_NUM_THREADS says), from the same seed.

Nothing of the person who runs it is read: the cache of data sets is an empty one. What is trained is trained in
float32, whatever the machine has, unless a test asks for more. STAWM_TEST_SEED=7 shifts the seed of every test: what is
asserted holds for any (`tiny_seed.py`).
"""

import gc

from jaxtyping import install_import_hook

gc.disable()  # What is imported stays; to look through all of it for garbage takes a third of a second each time.

# Before anything imports stawm, or its annotations stay unchecked.
install_import_hook("stawm", "typechecker.checked")

import os  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from browser_fixture import browser as browser  # noqa: E402
from page_fixture import home as home  # noqa: E402
from page_fixture import tab as tab  # noqa: E402
from page_fixture import visit as visit  # noqa: E402
from tiny_model import unchecked  # noqa: E402
from tiny_seed import SHIFT  # noqa: E402

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
hypothesis.settings.register_profile("suite", derandomize=SHIFT == 0, database=None, deadline=None)
hypothesis.settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, but not among what was there before."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def same_seed() -> None:
    torch.manual_seed(SHIFT)


@pytest.fixture(autouse=True, scope="session")
def nobodys_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("STAWM_CACHE", str(tmp_path_factory.mktemp("cache")))
        changed.delenv("STAWM_DATA", raising=False)
        changed.setenv("STAWM_PRECISION", "32")
        yield


@pytest.fixture
def as_users_run_it() -> Iterator[None]:
    """Without checks of shapes, which take as long as an exporter when they are traced."""
    with unchecked():
        yield


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a test puts a folder of pictures."""
    return tmp_path / "mine"
