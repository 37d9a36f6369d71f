"""Trained weights as a folder of `model.safetensors` and `config.json`: the names that huggingface_hub uses."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stawm import __version__
from stawm.errors import CheckpointError
from stawm.experiments.build import Model, build
from stawm.experiments.experiment import Experiment
from stawm.storage import whole_file, write_text
from stawm.training.checkpoint import EXPERIMENT, newest_checkpoint, read_tensors, write_tensors

FORMAT = 1
WEIGHTS = "weights"
MODEL = "model.safetensors"
CONFIG = "config.json"


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, the experiment it comes from, and what was measured when it was exported."""

    model: Model
    experiment: Experiment
    metrics: dict[str, Any]


def export(model: Model, experiment: Experiment, folder: Path, metrics: dict[str, Any] | None = None) -> Path:
    """Write the weights of `model` and how to build it into `folder`, and return the folder."""
    config = {"format": FORMAT, "stawm": __version__, "experiment": experiment.to_dict(), "metrics": metrics or {}}
    with whole_file(folder / MODEL) as partial:
        write_tensors(model.state_dict(), partial, {"format": "pt"})
    write_text(folder / CONFIG, json.dumps(config, indent=2) + "\n")
    return folder


def load(path_or_name: Path | str) -> Model:
    """The trained model of a weights folder, of a run folder, or of the packaged weights of that name."""
    return load_trained(path_or_name).model


def load_trained(path_or_name: Path | str) -> Trained:
    """Like `load`, with experiment and metrics; a run without exported weights gives those of its newest checkpoint."""
    path = Path(path_or_name)
    if not path.exists() and path.name == str(path_or_name):
        path = _packaged(str(path_or_name))
    if (path / CONFIG).exists() or (path / MODEL).exists():
        return _from_folder(path)
    if (path / WEIGHTS / CONFIG).exists():
        return _from_folder(path / WEIGHTS)
    if (path / EXPERIMENT).exists():
        return _from_checkpoint(path)
    raise CheckpointError(
        f"there are no weights in {path} (no {CONFIG}, no {EXPERIMENT}); give a weights folder or a run folder"
    )


def _packaged(name: str) -> Path:
    """The folder of the weights that come with the package under this name."""
    home = Path(str(files("stawm") / WEIGHTS))
    known = sorted(folder.name for folder in home.glob("*") if folder.is_dir()) if home.is_dir() else []
    if name in known:
        return home / name
    listed = f"those that come with the package: {', '.join(known)}" if known else "no weights come with this package"
    raise CheckpointError(f"there is no folder {name!r} here and no weights of that name; {listed}")


def _from_folder(folder: Path) -> Trained:
    cure = "export or download the weights again"
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        found = config["format"]
        experiment, metrics = Experiment.from_dict(config["experiment"]), config["metrics"]
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise CheckpointError(f"{folder / CONFIG} cannot be read ({failure}); {cure}") from failure
    if found != FORMAT:
        raise CheckpointError(
            f"{folder / CONFIG} has format {found}, this stawm reads {FORMAT}; use the stawm that wrote it"
        )
    tensors, _ = read_tensors(folder / MODEL, cure)
    return Trained(_filled(experiment, tensors, folder / MODEL, cure), experiment, metrics)


def _from_checkpoint(run: Path) -> Trained:
    checkpoint = newest_checkpoint(run)
    if checkpoint is None:
        raise CheckpointError(f"the run in {run} has no checkpoint yet; train it further (--resume)")
    tensors = checkpoint.part("average") or checkpoint.part("model")
    model = _filled(checkpoint.experiment, tensors, run, "start a new run")
    return Trained(model, checkpoint.experiment, {"epoch": checkpoint.epoch, "step": checkpoint.step})


def _filled(experiment: Experiment, tensors: dict[str, Tensor], source: Path, cure: str) -> Model:
    """A model of the experiment with these weights, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        model = build(experiment.model)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as failure:
        reason = " ".join(str(failure).split())
        raise CheckpointError(f"the weights in {source} are of another model: {reason[:200]}; {cure}") from failure
    return model.eval()
