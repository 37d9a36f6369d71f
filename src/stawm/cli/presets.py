"""`stawm presets`.

Each is listed with its place in the paper and the number to reach; with NAME come all of its settings, and how it
departs from the paper.

Examples:
  stawm presets
  stawm presets mnist-classify-8
  stawm presets mnist-classify-8 --json
"""

from json import dumps
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from stawm.cli.options import Json

if TYPE_CHECKING:
    from stawm.experiments.experiment import Experiment


def presets(
    name: Annotated[str | None, Positional, arg(metavar="NAME", help_behavior_hint="(all)")] = None,
    *,
    json: Json = False,
) -> None:
    """List the experiments that can be trained, or show one in full.

    Args:
        name: show this one in full
    """
    from stawm.experiments.presets import PRESETS, preset

    if name is None:
        print(dumps([known.to_dict() for known in PRESETS.values()]) if json else _list())
    else:
        chosen = preset(name)
        print(dumps(chosen.to_dict()) if json else _in_full(chosen))


def _list() -> str:
    from stawm.experiments.presets import PRESETS

    return "\n\n".join(
        f"{known.name}\n    {known.about}\n"
        f"    paper: {known.paper or 'not in it'}\n    reach: {known.reach or 'no number'}"
        for known in PRESETS.values()
    )


def _in_full(chosen: "Experiment") -> str:
    from stawm.ranges import leaves

    lines = [
        f"{name:28}{' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value, _ in leaves(chosen)
        if name != "deviations"
    ]
    departures = [f"  - {deviation}" for deviation in chosen.deviations] or ["  none"]
    return "\n".join([*lines, "deviations from the paper:", *departures])
