"""`stawm presets`."""

from stawm.cli.parser import Parser
from stawm.experiments.describe import presets_text

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
    print(presets_text(given.name, as_json=given.json))
    return 0
