"""`stawm data`.

`list` also says whether each is here; `get NAME` fetches one if it is not, and checks all of it. Files in
--data-dir or $STAWM_DATA always win; nothing is fetched twice.

Examples:
  stawm data list
  stawm data get mnist
  stawm data get folder:my-pictures
"""

from json import dumps
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from stawm.cli.options import DataDir, Json, flag
from stawm.errors import UsageError

if TYPE_CHECKING:
    from stawm.data import DataRecord


def data(
    action: Annotated[Literal["list", "get"], Positional, arg(help="what to do")],
    name: Annotated[str | None, Positional, flag("the data set to get", "NAME")] = None,
    *,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List the named data sets, or fetch one."""
    if (action == "get") != (name is not None):
        raise UsageError("say `stawm data list` or `stawm data get NAME`")

    from stawm.data import get_data, list_data

    if name is not None:
        where = str(get_data(name, data_dir))
        print(dumps({"name": name, "where": where}) if json else where)
    else:
        records = list_data(data_dir)
        print(dumps([record.to_dict() for record in records]) if json else "\n".join(map(_line, records)))


def _line(record: "DataRecord") -> str:
    size = "×".join(map(str, record.shape)) if record.shape else "any size"
    counts = f", {record.train:,} + {record.test:,} pictures" if record.train and record.test else ""
    place = record.where if record.here else f"not here; from {record.source}"
    name = f"{record.name:18}" if len(record.name) < 18 else f"{record.name}\n{'':18}"
    return f"{name}{record.about} ({size}{counts})\n{'':18}{place}"
