"""`stawm train`."""

from argparse import Namespace
from pathlib import Path

from stawm.cli import first_process
from stawm.cli.overrides import override, print_fields
from stawm.cli.parser import Parser
from stawm.errors import CheckpointError
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset

ABOUT = """\
Train the model of a preset, or go on with a run that was stopped.

Any field of the preset can be set, as in --training.epochs 3, --model.memory.size 64 or --data.name folder:PICTURES;
`stawm train PRESET --help` lists them all. The run folder holds experiment.json, metrics.jsonl, tensorboard/,
checkpoints/ and weights/. On several GPUs or machines start it with torchrun."""

EXAMPLES = """\
  stawm train mnist-5k-classify
  stawm train mnist-5k-classify --seed 1 --training.epochs 3 --run runs/short
  stawm train mnist-5k-classify --run runs/short --resume
  torchrun --nproc-per-node 2 -m stawm train mnist-5k-classify --run-dir runs/two"""


def run(arguments: list[str]) -> int:
    """Train as `arguments` say; 0 when the run has reached its end."""
    parser = Parser("train", ABOUT, EXAMPLES, add_help=False)
    parser.add_argument("preset", metavar="PRESET", nargs="?", help="a name from `stawm presets`")
    parser.add_argument("-h", "--help", action="store_true", help="show this; with PRESET also its fields")
    # Two names, since torchrun takes --run, wherever it stands, for a short form of its own --run-path.
    parser.add_argument("--run", "--run-dir", type=Path, metavar="DIR", help="the run folder (runs/PRESET-seedN)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in the run folder")
    parser.takes_data_dir()
    parser.takes_device()
    parser.takes_json("one JSON line an epoch, and nothing else,")
    given, fields = parser.parse_known_args(arguments)
    if given.help:
        print(parser.format_help())
        if given.preset:
            print_fields(preset(given.preset))
        return 0
    if given.preset is None:
        parser.error("which preset? `stawm presets` lists them")
    _train(given, fields)
    return 0


def _train(given: Namespace, fields: list[str]) -> None:
    experiment = override(preset(given.preset), fields)
    folder = given.run or Path("runs") / f"{experiment.name}-seed{experiment.seed}"

    from stawm.cli.progress import reporter_for, watch
    from stawm.training.fit import fit

    if given.resume:
        experiment = _resumed(folder, given.preset, fields)
    reporter = reporter_for(given.json)
    records = fit(
        experiment,
        folder,
        resume=given.resume,
        data_dir=given.data_dir,
        accelerator=given.device,
        on_step=reporter.step,
    )
    watch(records, reporter)
    if first_process() and not given.json:
        print(f"the weights are in {folder / 'weights'}; go on with `stawm evaluate {folder}`")


def _resumed(folder: Path, name: str, fields: list[str]) -> Experiment:
    """The run's own experiment, so that nothing it was begun with must be said again; what is said must agree."""
    from stawm.store.checkpoint import experiment_of

    stored = experiment_of(folder)
    if stored.name != name:
        raise CheckpointError(
            f"the run in {folder} is one of {stored.name}, not of {name}; name that, or another folder"
        )
    return override(stored, fields)
