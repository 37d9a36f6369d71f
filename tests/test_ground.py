"""The quick ways of the ground are those of the libraries; how pictures are read is tested in `test_digit.py`."""

import numpy as np
import pytest
from PIL import Image, ImageFilter

from stawm.data.prepare import ground


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.98, 1.0])
def test_a_quantile_by_counting_is_numpys(size: int, share: float) -> None:
    numbers = np.random.default_rng(size).integers(0, 40, size).astype(np.uint8)
    assert ground._counted_quantile(ground.counts_of(numbers), share) == pytest.approx(np.quantile(numbers, share))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 12)])
def test_the_most_nearby_is_that_of_a_rank_filter(shape: tuple[int, int]) -> None:
    levels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    for kind, most in ((ImageFilter.MaxFilter, np.maximum), (ImageFilter.MinFilter, np.minimum)):
        wanted = np.asarray(Image.fromarray(levels).filter(kind(3)))
        assert np.array_equal(ground._nearby(levels, most), wanted)
