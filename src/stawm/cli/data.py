"""`stawm data`."""

import json

from stawm.cli.parser import Parser

ABOUT = """\
List the named data sets and whether each is here (`list`), or fetch one if it is not, and check all of it (`get NAME`).
Files in --data-dir or $STAWM_DATA always win; nothing is fetched twice."""

EXAMPLES = """\
  stawm data list
  stawm data get mnist
  stawm data get folder:my-pictures"""


def run(arguments: list[str]) -> int:
    """List the data sets, or get one and say where it lies."""
    parser = Parser("data", ABOUT, EXAMPLES)
    parser.add_argument("action", choices=("list", "get"), help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the data set to get")
    parser.takes_data_dir()
    parser.takes_json("JSON")
    given = parser.parse_args(arguments)
    if (given.action == "get") != (given.name is not None):
        parser.error("say `stawm data list` or `stawm data get NAME`")

    from stawm.data import DataRecord, get_data, list_data

    def line(record: DataRecord) -> str:
        size = "×".join(map(str, record.shape)) if record.shape else "any size"
        counts = f", {record.train:,} + {record.test:,} pictures" if record.train and record.test else ""
        place = record.where if record.here else f"not here; from {record.source}"
        return f"{record.name:15}{record.about} ({size}{counts})\n{'':15}{place}"

    if given.action == "get":
        where = str(get_data(given.name, given.data_dir))
        print(json.dumps({"name": given.name, "where": where}) if given.json else where)
    else:
        records = list_data(given.data_dir)
        print(json.dumps([record.to_dict() for record in records]) if given.json else "\n".join(map(line, records)))
    return 0
