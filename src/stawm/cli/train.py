"""`stawm train`.

Any setting of the preset can be changed, as in --training.epochs 3, --model.memory.size 64, --model.memory.rule
delta-rule or --data.name folder:PICTURES; `stawm train PRESET --help` lists them all. With folder:PICTURES in the
place of a preset, or other data, channels, size and number of classes are those of the pictures. The run folder
holds experiment.json, metrics.jsonl, tensorboard/, checkpoints/ and weights/. On several GPUs or machines start it
with torchrun.

Examples:
  stawm train mnist-5k-classify
  stawm train folder:my-pictures
  stawm train mnist-5k-classify --seed 1 --training.epochs 3 --run runs/short
  stawm train mnist-5k-classify --run runs/short --resume
  torchrun --nproc-per-node 2 -m stawm train mnist-5k-classify --run-dir runs/two
"""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagConversionOff, Positional, arg

from stawm.cli import first_process
from stawm.cli.options import NO_SETTINGS, DataDir, Device, Json, Settings, call, flag
from stawm.errors import CheckpointError
from stawm.files import real

if TYPE_CHECKING:
    from stawm.experiments.experiment import Experiment

SWITCHES = ("--resume", "--json", "--help", "-h")
"""Flags that no value follows."""


def train(
    preset: Annotated[str, Positional, arg(metavar="PRESET", help="a name from `stawm presets`, or folder:PICTURES")],
    settings: Annotated[Settings, arg(name=""), FlagConversionOff] = NO_SETTINGS,
    *,
    # Two names, since torchrun takes --run, wherever it stands, for a short form of its own --run-path.
    run: Annotated[Path | None, flag("the run folder", "DIR", "(runs/PRESET-seedN)", aliases=("--run-dir",))] = None,
    resume: Annotated[bool, arg(help="go on from the last checkpoint in the run folder")] = False,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Train a preset, or a model of your own pictures, or go on with a run."""
    from stawm.cli.overrides import AllSettings
    from stawm.cli.progress import reporter_for, watch
    from stawm.experiments import own
    from stawm.training.fit import fit, precision_for

    assert isinstance(settings, AllSettings), "`run` gives the settings of the preset"
    experiment, speaks = settings.experiment, first_process() and not json
    folder = _folder(preset, experiment.seed, run)
    if experiment.data.name != _recipe(preset).data.name and not resume:
        own.check_size(experiment.model)
        if speaks:
            print(own.told(experiment), flush=True)
    if speaks:
        print(precision_for(experiment, folder, resume=resume, accelerator=device), flush=True)
    reporter = reporter_for(json)
    options = {"resume": resume, "data_dir": data_dir, "accelerator": device}
    watch(fit(experiment, folder, **options, on_step=reporter.step, on_stored=reporter.stored), reporter)
    if speaks:
        print(f"the weights are in {folder / 'weights'}; go on with `stawm evaluate {shlex.quote(str(folder))}`")


def run(arguments: Sequence[str]) -> int:
    """Train as `arguments` say: the settings that they may change are those of the preset that they name."""
    what = named(arguments)
    if what is None:
        return call(train, arguments, "stawm train")

    from stawm.cli.overrides import settings_of

    settings = settings_of(base_of(what, arguments), arguments)
    return call(partial(train, settings=settings), arguments, f"stawm train {what}")


def named(arguments: Sequence[str], switches: Sequence[str] = SWITCHES) -> str | None:
    """The first argument that is neither a flag nor the value of one; `switches` are flags that no value follows."""
    for before, argument in zip(["", *arguments], arguments, strict=False):
        alone = not before.startswith("-") or "=" in before or before in switches
        if alone and not argument.startswith("-"):
            return argument
    return None


def base_of(what: str, arguments: Sequence[str]) -> "Experiment":
    """The experiment whose settings are changed: a recipe fitted to its pictures, or that of the run to go on with.

    A run's own experiment is taken so that nothing it was begun with must be said again; what is said must agree.
    """
    from stawm.cli.overrides import values_of
    from stawm.data.data_set import find_data
    from stawm.experiments import own
    from stawm.store.checkpoint import experiment_of

    def given(*flags: str) -> str | None:
        # The first: the preset may stand behind it.
        return next((values[0] for flag in flags if (values := values_of(arguments, flag))), None)

    recipe = _recipe(what)
    if "--resume" in arguments:
        folder = _folder(what, given("--seed") or recipe.seed, given("--run", "--run-dir"))
        stored = experiment_of(folder, resume=True)
        if stored.name != recipe.name:
            raise CheckpointError(
                f"the run in {folder} is one of {stored.name}, not of {recipe.name}; name that, or another folder"
            )
        if what.startswith(own.FOLDER) and _pictures(stored.data.name) != _pictures(what):
            raise CheckpointError(
                f"the run in {folder} learns from {stored.data.name}, not from {what}; name that, where the run was "
                "begun, or give another run folder (--run DIR)"
            )
        return stored
    name = given("--data.name") or (what if what.startswith(own.FOLDER) else recipe.data.name)
    if name == recipe.data.name:
        return recipe
    place = given("--data-dir")
    facts = find_data(name).facts(Path(place) if place else None)
    return own.own_pictures(name, facts) if what.startswith(own.FOLDER) else own.fitted_to(recipe, facts)


def _pictures(name: str) -> Path:
    """The folder that folder:PICTURES means."""
    from stawm.experiments.own import FOLDER

    return real(Path(name.removeprefix(FOLDER)).expanduser())


def _recipe(what: str) -> "Experiment":
    from stawm.experiments.own import FOLDER, OWN_PICTURES
    from stawm.experiments.presets import preset

    return OWN_PICTURES if what.startswith(FOLDER) else preset(what)


def _folder(what: str, seed: int | str, run: Path | str | None) -> Path:
    """The run folder: the one given, or runs/PRESET-seedN; for folder:PICTURES it has the name of that folder."""
    from stawm.experiments.own import FOLDER

    name = _pictures(what).name if what.startswith(FOLDER) else what
    return Path(run) if run else Path("runs") / f"{name}-seed{seed}"
