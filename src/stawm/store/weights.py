"""Trained weights as a folder of `model.safetensors` and `config.json`: the names that huggingface_hub uses.

A *home* is a folder of such folders with a manifest, which holds the SHA-256 of every file; one is in the package.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from stawm import __version__
from stawm.data.data_set import learnt_from
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import Model, build
from stawm.experiments.experiment import Experiment
from stawm.files import parsed, placed, read_json, unsealed, write_bytes, write_json
from stawm.memory.protocol import RATES
from stawm.store.checkpoint import (
    EXPERIMENT,
    broken_tensor,
    check_same,
    experiment_of,
    newest_checkpoint,
    read_tensors,
    tensor_bytes,
)
from stawm.store.trust import FILE as TRUST
from stawm.store.trust import read_trust, write_trust
from stawm.trust.trust import Trust

FORMAT = 3
READ = (1, 2, 3)
"""Formats that are read: in the first, what the paper says of an experiment was sentences; both have no checksums."""
WEIGHTS = "weights"
MODEL = "model.safetensors"
CONFIG = "config.json"
MANIFEST = "manifest.json"
HEADER = {"format": "pt"}
MEMORY_RATES = f"memory.{RATES}"
CURE = "export or download the weights again"


@dataclass(frozen=True)
class Config:
    """What weights come with: the experiment, and what was measured when they were exported."""

    experiment: Experiment
    metrics: dict[str, Any]
    classes: tuple[str, ...] = ()
    """The names of the classes; none where the model does not classify."""
    sha256: str = ""
    """Of `model.safetensors`; of earlier versions it is not known."""


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, with what its weights come with."""

    model: Model
    experiment: Experiment
    metrics: dict[str, Any]
    classes: tuple[str, ...] = ()
    trust: Trust | None = None
    """How far its answers can be believed; none if it was never calibrated."""


_ORIGINS: "WeakKeyDictionary[Model, tuple[Any, ...]]" = WeakKeyDictionary()
"""Where the models come from that `load` gave as bare modules."""


def export(
    model: Model,
    experiment: Experiment,
    folder: Path,
    metrics: dict[str, Any] | None = None,
    *,
    classes: tuple[str, ...] | None = None,
    half: bool = False,
    trust: Trust | None = None,
) -> Path:
    """Write the weights of `model` and how to build it into `folder`, and return the folder.

    `classes` are the names of its classes (those of its data set, or numbers, if not given). With `half`, matrices are
    written as float16 (`halved`), and loaded as float32 again. `trust` that was found earlier goes with them.
    """
    named = class_names(experiment) if classes is None else classes if experiment.model.classes else ()
    content = tensor_bytes(halved(model) if half else model.state_dict(), HEADER)
    config = {
        "format": FORMAT,
        "stawm": __version__,
        "classes": list(named),
        "experiment": experiment.to_dict(),
        "metrics": metrics or {},
        "sha256": {MODEL: hashlib.sha256(content).hexdigest()},
    }
    write_bytes(folder / MODEL, content)
    write_json(folder / CONFIG, config)
    write_trust(trust, folder, sha256_of(folder / MODEL))
    return folder


def halved(model: Model) -> dict[str, Tensor]:
    """The state of `model` with float16 in place of the float32 of matrices and filters, which are nearly all of it.

    Biases, the memory's rates and the running statistics of batch norm stay exact: a variance can exceed float16.
    """
    large = {weight.data_ptr() for weight in model.parameters() if weight.dim() > 1 and weight.dtype == torch.float32}
    return {name: value.half() if value.data_ptr() in large else value for name, value in model.state_dict().items()}


def fingerprint(model: Model) -> str:
    """The SHA-256 of the weights of this model in full precision, as a file of safetensors holds them.

    The rates that its memory was given are left out, as they stand in its settings: by this number the ledger knows
    weights, also those that were written before a file held the rates.
    """
    learnt = {name: value for name, value in model.state_dict().items() if name != MEMORY_RATES}
    return hashlib.sha256(tensor_bytes(learnt, HEADER)).hexdigest()


def class_names(experiment: Experiment) -> tuple[str, ...]:
    """The names of the classes that the model of `experiment` tells apart: those of its data set, else numbers."""
    known, count = learnt_from(experiment.data.name).classes, experiment.model.classes
    return known if len(known) == count else tuple(map(str, range(count)))


def load(path_or_name: Path | str) -> Model:
    """The trained model of a weights folder, of a run folder, or of the weights of that name in package or clone."""
    trained = load_trained(path_or_name)
    _ORIGINS[trained.model] = trained.experiment, trained.metrics, trained.classes, trained.trust
    return trained.model


def trained_of(model: Model) -> Trained:
    """A model that `load` gave, with experiment and metrics."""
    if model not in _ORIGINS:
        raise UsageError(
            f"this {type(model).__name__} was not loaded from weights, so what pictures it takes is not known; "
            "give Trained(model, experiment, {})"
        )
    return Trained(model, *_ORIGINS[model])


def load_trained(path_or_name: Path | str) -> Trained:
    """Like `load`, with experiment and metrics; a run without exported weights gives those of its newest checkpoint."""
    path = _place(path_or_name)
    if (path / CONFIG).exists() or (path / MODEL).exists():
        return _from_folder(path)
    if (path / EXPERIMENT).exists():
        return _from_checkpoint(path)
    raise CheckpointError(
        f"there are no weights in {path} (no {CONFIG}, no {EXPERIMENT}); give a weights folder or a run folder"
    )


def entrust(path_or_name: Path | str, trust: Trust) -> Path:
    """Write the trust in a model beside its weights and enter it in their manifest, if they have one; its file."""
    folder = _place(path_or_name)
    if not (folder / MODEL).exists():
        raise CheckpointError(f"{folder} has no {MODEL} yet, only checkpoints; let its run end first")
    write_trust(trust, folder, sha256_of(folder / MODEL))
    manifest = read_manifest(folder.parent)
    if folder.name in manifest:
        manifest[folder.name]["files"] = listed(folder)
        write_json(folder.parent / MANIFEST, manifest)
    return folder / TRUST


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """The files of a folder of weights as a manifest has them."""
    files = [path for path in (folder / MODEL, folder / CONFIG, folder / TRUST) if path.exists()]
    return {path.name: {"sha256": sha256_of(path), "size": path.stat().st_size} for path in files}


def packaged() -> tuple[str, ...]:
    """The names of the weights that come with the package."""
    return tuple(sorted(read_manifest(package_home())))


def package_home() -> Path:
    """Where the weights lie that come with the package."""
    return Path(str(files("stawm") / WEIGHTS))


def clone_home() -> Path:
    """Where a clone of the repository has weights that are too many for the package; not there in an installed one."""
    return Path(str(files("stawm"))).parent.parent / WEIGHTS


def read_manifest(home: Path) -> dict[str, dict[str, Any]]:
    """What the manifest of a home says: under each name its `files` with SHA-256 and size, and where they come from."""
    path = home / MANIFEST
    if not path.is_file():
        return {}
    try:
        entries = read_json(path)
        for name, entry in entries.items():
            if not all(isinstance(known["sha256"], str) for known in entry["files"].values()):
                raise ValueError(f"the SHA-256 of a file of {name} is no text")
        return entries
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        raise CheckpointError(f"{path} cannot be read ({failure!r}); install or clone stawm again") from failure


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(path_or_name: Path | str) -> Path:
    """The folder that is meant: of weights, where there are any, else of a run."""
    path, name = placed(path_or_name), str(path_or_name)
    if path.name == name and (not path.exists() or (_is_bare(path) and name in _known())):
        path = _named(name)
    return path / WEIGHTS if (path / WEIGHTS / CONFIG).exists() else path


def _is_bare(path: Path) -> bool:
    """Whether it is a folder in which there is neither a run nor weights: it does not hide weights of its name."""
    return path.is_dir() and not any((path / name).exists() for name in (CONFIG, EXPERIMENT, MODEL, WEIGHTS))


def _known() -> dict[str, Path]:
    """The folders of all weights that have a name: here, in the clone that the package runs from, or in the package."""
    homes = (Path(WEIGHTS), clone_home(), package_home())
    return {found: home / found for home in homes for found in read_manifest(home)}


def _named(name: str) -> Path:
    """The folder of the weights of this name."""
    known = _known()
    if name in known:
        return known[name]
    listed = f"known are {', '.join(sorted(known))}" if known else "no weights come with this package"
    raise CheckpointError(f"there is no folder {name!r} here and no weights of that name; {listed}")


def check_files(folder: Path) -> None:
    """Refuse files that are not those which the manifest beside `folder` tells of; without one, all are taken."""
    entry = read_manifest(folder.parent).get(folder.name, {"files": {}})
    for name, known in entry["files"].items():
        path = folder / name
        if not path.is_file():
            raise CheckpointError(
                f"there is no {path}, of which {MANIFEST} tells; install or download the weights again"
            )
        if sha256_of(path) != known["sha256"]:
            raise CheckpointError(
                f"{path} is not the file that {MANIFEST} tells of (its SHA-256 differs); "
                "install or download the weights again"
            )


def _from_folder(folder: Path) -> Trained:
    check_files(folder)
    known = read_config(folder)
    tensors, _ = read_tensors(folder / MODEL, CURE)
    if known.sha256 and known.sha256 != sha256_of(folder / MODEL):
        raise CheckpointError(f"{folder / MODEL} is damaged, or not the file of {CONFIG}: its SHA-256 differs; {CURE}")
    model = _filled(known.experiment, tensors, folder / MODEL, CURE)
    trust = read_trust(folder, sha256_of(folder / MODEL))
    return Trained(model, known.experiment, known.metrics, known.classes, trust)


def read_config(folder: Path) -> Config:
    """What `config.json` in a folder of weights says."""
    try:
        config = parsed((folder / CONFIG).read_bytes())
        found = config["format"]
        config = unsealed(config, must=found == FORMAT)
        experiment, metrics = Experiment.from_dict(config["experiment"]), dict(config["metrics"])
        classes = tuple(config["classes"]) if "classes" in config else class_names(experiment)
        sha256 = config["sha256"][MODEL] if found == FORMAT else ""
        if len(classes) != experiment.model.classes or not all(isinstance(name, str) for name in classes):
            raise ValueError(f"it names {len(classes)} classes, but its model tells {experiment.model.classes} apart")
    except (OSError, ValueError, KeyError, TypeError, CheckpointError) as failure:
        raise CheckpointError(f"{folder / CONFIG} cannot be read ({failure}); {CURE}") from failure
    if found not in READ:
        known = ", ".join(map(str, READ))
        raise CheckpointError(
            f"{folder / CONFIG} has format {found}, this stawm reads {known}; use the stawm that wrote it"
        )
    return Config(experiment, metrics, classes, sha256)


def _from_checkpoint(run: Path) -> Trained:
    checkpoint = newest_checkpoint(run)
    if checkpoint is None:
        raise CheckpointError(f"the run in {run} has no checkpoint yet; train it further (--resume)")
    check_same(experiment_of(run), checkpoint.experiment, run)
    tensors = checkpoint.part("average") or checkpoint.part("model")
    model = _filled(checkpoint.experiment, tensors, run, "start a new run")
    metrics = {"epoch": checkpoint.epoch, "step": checkpoint.step}
    experiment, known = checkpoint.experiment, checkpoint.classes
    named = class_names(experiment) if known is None else tuple(known) if experiment.model.classes else ()
    return Trained(model, experiment, metrics, named)


def _filled(experiment: Experiment, tensors: dict[str, Tensor], source: Path, cure: str) -> Model:
    """A model of the experiment with these weights, in evaluation mode."""
    try:
        with torch.random.fork_rng(devices=[]):
            model = build(experiment.model)
    except UsageError as failure:
        raise CheckpointError(f"the settings in {source} make no model: {failure}; {cure}") from failure
    if broken := broken_tensor(tensors):
        raise CheckpointError(f"the weight {broken} in {source} holds NaN or infinity; {cure}")
    told, held = model.state_dict().get(MEMORY_RATES), tensors.get(MEMORY_RATES)
    try:
        model.load_state_dict(tensors)
        if told is not None and held is not None and not torch.equal(told, held):
            raise RuntimeError(f"{MEMORY_RATES} is {held.tolist()}, its settings say {told.tolist()}")
    except RuntimeError as failure:
        reason = " ".join(str(failure).split())
        raise CheckpointError(f"the weights in {source} are of another model: {reason[:200]}; {cure}") from failure
    return model.eval()
