"""What `import stawm` offers is what its page says."""

import re
from pathlib import Path

import pytest

import stawm

PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_export_is_on_the_page_and_nothing_else_is():
    rows = [line.split(" | ")[0] for line in PAGE.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)[(`]", row)}
    assert told == set(stawm.__all__)
    assert all(getattr(stawm, name) is not None for name in told)
    with pytest.raises(AttributeError, match="exports"):
        stawm.Nothing  # noqa: B018
