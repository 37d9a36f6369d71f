"""`stawm compare`.

Every cell of the grid is an ordinary run folder, DIR/cells/NAME, computed in a process of its own with its share of the
cores. Any setting of the preset can be given for all cells, as in `stawm train` (--training.epochs 3). The same command
goes on with a grid that was stopped, tries again what failed, and may bring more values and seeds; `stawm compare --out
DIR` goes on with it as it is. The exit code is 5 if a cell failed.

--vary takes a setting and its values, or bundles of settings that vary together: bundles are divided by |, the settings
of one by spaces, and each may have a label and all a name before it, with a colon and a space. --match-parameters
chooses model.hidden (or the setting that --match names) for each cell, so that it has as many parameters, within 2 %,
as the cell with the first value of the first --vary and the same other values.

`stawm compare recall` is memory without pictures: pairs of keys and values are written, and values are asked for by
their keys, with every memory rule that is known. --rules, --pairs and --sizes are short for --vary memory.rule=,
pairs= and memory.size=. recall-letters has the sizes of Ba et al. (2016), recall-zoology those of Arora et al. (2023).

--record enters the finished grid into the ledger, results/compare/NAME.json; `stawm figure compare DIR` draws it.

Examples:
  stawm compare mnist-5k-classify --vary model.memory.rule=hebb-rosenblatt,delta-rule --seeds 0,1,2 --jobs 2
  stawm compare mnist-5k-classify --vary model.memory.size=64,128 --vary model.glimpses=2,4 --training.epochs 3
  stawm compare mnist-5k-classify --vary "rule: slow: model.memory.delta=0.1 model.memory.eta=0.3 | delta: \
model.memory.rule=delta-rule"
  stawm compare mnist-5k-classify --vary model.memory.size=64,128 --match-parameters --out runs/compare/sizes
  stawm compare recall --rules hebb-rosenblatt,delta-rule --pairs 4,8 --sizes 64 --seeds 0,1 --steps 1000
  stawm compare --out runs/compare/sizes --list
  stawm compare --out runs/compare/sizes --record --note "one night"
"""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagConversionOff, Positional, UseAppendAction, arg

from stawm.cli.options import NO_SETTINGS, DataDir, Device, Json, Ledger, Settings, call, flag
from stawm.cli.train import base_of, named
from stawm.errors import TrainingError, UsageError

if TYPE_CHECKING:
    from stawm.compare.plan import Plan
    from stawm.ledger.comparison import Comparison

SWITCHES = ("--match-parameters", "--list", "--record", "--json", "--help", "-h")
"""Flags that no value follows."""
GRIDS = Path("runs") / "compare"
RECALL = "recall"
"""How the names of grids begin whose cells are recall tasks instead of runs."""


def compare(
    preset: Annotated[str | None, Positional, flag("a name from `stawm presets`, or recall", "PRESET")] = None,
    settings: Annotated[Settings, arg(name=""), FlagConversionOff] = NO_SETTINGS,
    *,
    vary: Annotated[UseAppendAction[tuple[str, ...]], flag("a setting and its values, or bundles", "WHAT")] = (),
    seeds: Annotated[str, flag("the seeds of each combination", "N,N,...", "(that of the preset)")] = "",
    jobs: Annotated[int, arg(metavar="N", help="cells at once")] = 1,
    out: Annotated[Path | None, flag("the folder of the grid", "DIR", "(runs/compare/PRESET)")] = None,
    match_parameters: Annotated[bool, arg(help="let all cells have as many parameters")] = False,
    match: Annotated[str, flag("the setting that does it", "SETTING", "(model.hidden)")] = "",
    list: Annotated[bool, arg(help="print the table of the grid as it stands, and run nothing")] = False,
    record: Annotated[bool, arg(help="enter the finished grid into the ledger")] = False,
    name: Annotated[str, flag("the name of the entry", hint="(that of the folder)")] = "",
    note: Annotated[str, flag("what else is to be known")] = "",
    ledger: Ledger = Path("results"),
    data_dir: DataDir = None,
    device: Device = "auto",
    json: Json = False,
) -> int:
    """Train a grid of settings and seeds, and compare the means."""
    from stawm.cli.grid_progress import reporter_for, watch
    from stawm.compare.plan import check_grown
    from stawm.compare.run import compare as run_grid
    from stawm.compare.summary import comparison_of
    from stawm.files import real
    from stawm.ledger.comparison import check_free

    if preset is None and (vary or seeds or match or match_parameters):
        raise UsageError("no preset is named; name the one that shall vary, or give only --out to go on with a grid")
    if preset is None and out is None:
        raise UsageError("no preset is named, and no grid; give PRESET and --vary, or --out and the folder of a grid")
    folder = out or GRIDS / (preset or "")
    if record:
        check_free(ledger, name or real(folder).name)
    plan = None if preset is None else _plan(settings, vary, seeds, data_dir, match_parameters, match)
    if plan:
        check_grown(folder, plan)
    if not list:
        reporter = reporter_for(json)
        options = {"jobs": jobs, "device": device, "data_dir": data_dir, "on_progress": reporter.progress}
        watch(run_grid(plan, folder, **options), reporter, folder, plan)
        plan = None
    comparison = comparison_of(folder, plan, name=name, note=note)
    _tell(comparison, json)
    if record:
        _record(folder, comparison, ledger, silent=json)
    return TrainingError.exit_code if any(cell.state == "failed" for cell in comparison.cells) else 0


def run(arguments: Sequence[str]) -> int:
    """Compare as `arguments` say: the settings that they may change are those of the preset that they name."""
    what = named(arguments, SWITCHES)
    if what is None:
        return call(compare, arguments, "stawm compare")
    if what.startswith(RECALL) or _meant_recall(what):
        from stawm.cli.recall import named_grid, recall_settings, spelled_out

        arguments = spelled_out(arguments)
        settings = recall_settings(named_grid(what), arguments)
    else:
        from stawm.cli.overrides import settings_of

        settings = settings_of(base_of(what, arguments), arguments)
    return call(partial(compare, settings=settings), arguments, f"stawm compare {what}")


def _meant_recall(name: str) -> bool:
    """Whether a name that is no preset's, nor that of a run or data, is nearest to that of a recall grid."""
    from stawm.compare.recall import task
    from stawm.experiments.presets import PRESETS

    return name not in PRESETS and any(
        near in task.GRIDS for near in get_close_matches(name, [*task.GRIDS, *PRESETS], n=1)
    )


def _plan(
    settings: Settings, vary: Sequence[str], seeds: str, data_dir: Path | None, matches: bool, match: str
) -> "Plan":
    from stawm.cli.recall import RecallSettings
    from stawm.cli.vary import axis_of, base_task, seeds_of, with_words
    from stawm.compare.grid import plan_grid

    if match and not matches:
        raise UsageError("--match says by what parameters are matched; give --match-parameters, too")
    base, axes = base_task(settings), tuple(map(axis_of, vary))
    axes = settings.axes(axes) if isinstance(settings, RecallSettings) else axes
    numbers = seeds_of(seeds) if seeds else (base.seed,)
    by = (match or base.matched_by).replace("-", "_") if matches else ""
    return plan_grid(base, axes, numbers, match=by, change=partial(with_words, data_dir=data_dir))


def _tell(comparison: "Comparison", as_json: bool) -> None:
    from dataclasses import asdict

    from stawm.ledger.comparisons import text_table

    if as_json:
        rows = [asdict(row) for row in comparison.rows]
        print(dumps(comparison.to_dict() | {"rows": rows}))
    else:
        print(text_table(comparison))


def _record(folder: Path, comparison: "Comparison", ledger: Path, *, silent: bool) -> None:
    from stawm.compare.plan import read_plan
    from stawm.compare.run import check_finished
    from stawm.ledger.comparison import write_comparison

    check_finished(folder, read_plan(folder))
    path = write_comparison(ledger, comparison)
    if not silent:
        print(path)
