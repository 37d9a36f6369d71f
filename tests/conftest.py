"""Every test checks the shapes in signatures (jaxtyping with beartype), on one thread, from the same seed."""

from jaxtyping import install_import_hook

# Before anything imports stawm, or its annotations stay unchecked.
install_import_hook("stawm", "typechecker.checked")

from collections.abc import Iterator  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402

from browser_fixture import browser as browser  # noqa: E402
from page_fixture import home as home  # noqa: E402
from page_fixture import visit as visit  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is kept in the cache folder of the person who runs the tests, nor taken from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STAWM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def same_seed() -> None:
    torch.manual_seed(0)
