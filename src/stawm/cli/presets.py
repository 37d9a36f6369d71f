"""`stawm presets`."""

import json

from stawm.cli.overrides import field_values
from stawm.cli.parser import Parser
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS, preset

ABOUT = """\
List the presets, each with its place in the paper and the number to reach; with NAME, all of its fields and how it
departs from the paper."""

EXAMPLES = """\
  stawm presets
  stawm presets mnist-classify-8
  stawm presets mnist-classify-8 --json"""


def run(arguments: list[str]) -> int:
    """List the presets, or show one."""
    parser = Parser("presets", ABOUT, EXAMPLES)
    parser.add_argument("name", metavar="NAME", nargs="?", help="show this one in full")
    parser.takes_json("the presets (with NAME: this one) as JSON")
    given = parser.parse_args(arguments)
    if given.name is None:
        print(json.dumps([known.to_dict() for known in PRESETS.values()]) if given.json else _list())
    else:
        chosen = preset(given.name)
        print(json.dumps(chosen.to_dict()) if given.json else _in_full(chosen))
    return 0


def _list() -> str:
    return "\n\n".join(
        f"{known.name}\n    {known.about}\n"
        f"    paper: {known.paper or 'not in it'}\n    reach: {known.reach or 'no number'}"
        for known in PRESETS.values()
    )


def _in_full(chosen: Experiment) -> str:
    lines = [
        f"{name:28}{' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in field_values(chosen)
        if name != "deviations"
    ]
    departures = [f"  - {deviation}" for deviation in chosen.deviations] or ["  none"]
    return "\n".join([*lines, "deviations from the paper:", *departures])
