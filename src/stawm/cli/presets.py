"""`stawm presets`.

Each is listed with its place in the paper and the number to reach; with NAME come all of its settings, and how it
departs from the paper.

Examples:
  stawm presets
  stawm presets mnist-classify-8
  stawm presets mnist-classify-8 --json
"""

from typing import Annotated

from tyro.conf import Positional

from stawm.cli.options import Json, flag


def presets(
    name: Annotated[str | None, Positional, flag("show this one in full", "NAME", "(all)")] = None,
    *,
    json: Json = False,
) -> None:
    """List the experiments that can be trained, or show one in full."""
    from stawm.experiments.describe import presets_text

    print(presets_text(name, as_json=json))
