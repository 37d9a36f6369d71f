"""A run at one step, as one safetensors file: tensors, and the rest as JSON in its header. No pickles."""

import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from stawm import files
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.experiment import Experiment
from stawm.files import SEAL, parsed, read_json, sealed, unsealed, write_bytes, write_json

logger = logging.getLogger(__name__)

FORMAT = 2
READ = (1, 2)
"""Formats that are read; the first has no checksums."""
KEEP = 2
TENSORS = "sha256 of the tensors"
CURE = "start its run again in another folder"
EXPERIMENT = "experiment.json"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Checkpoint:
    """All that a run needs to go on: `tensors` by name, and the rest as plain JSON values."""

    experiment: Experiment
    step: int
    """Steps done since the start of the run."""
    epoch: int
    """Epochs done."""
    position: int
    """Steps done in the epoch that is under way."""
    world: int
    """Processes that wrote it."""
    checksum: str
    """Of the training images."""
    sums: dict[str, list[float]]
    """Running sums of the epoch's record: for each name the total and how often it was counted."""
    seconds: float
    """Time spent on the epoch that is under way."""
    tensors: dict[str, Tensor] = field(repr=False)
    precision: str = "32"
    """In which the run computes, whatever machine it goes on on."""
    records: list[dict[str, Any]] | None = None
    """Those of the epochs done; none where an earlier version wrote it."""
    classes: list[str] | None = None
    """The names of the classes of the training images; likewise."""

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors of one part (`model`, `average`, `optimiser`, `random`), by their names within it."""
        return {
            key.removeprefix(f"{name}/"): value for key, value in self.tensors.items() if key.startswith(f"{name}/")
        }


def save_checkpoint(run: Path, checkpoint: Checkpoint) -> Path:
    """Write `checkpoint` wholly or not at all, keep the one before it, and remove older ones."""
    state = {key: value for key, value in vars(checkpoint).items() if key not in ("tensors", "experiment")}
    header = {
        "format": str(FORMAT),
        "experiment": json.dumps(checkpoint.experiment.to_dict()),
        "state": json.dumps(state),
        TENSORS: digest_of(checkpoint.tensors),
    }
    path = run / CHECKPOINTS / _name(checkpoint.step)
    write_bytes(path, tensor_bytes(checkpoint.tensors, sealed(header)))
    for old in list_checkpoints(run)[:-KEEP]:
        old.unlink(missing_ok=True)
    return path


def load_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in `path`; one that is truncated, damaged or foreign is a `CheckpointError`."""
    tensors, header = read_tensors(path, CURE)
    try:
        _check_header(path, header)
        if SEAL in header and header[TENSORS] != digest_of(tensors):
            raise CheckpointError(f"{path} is damaged: the checksum of its tensors differs; {CURE}")
        experiment = Experiment.from_dict(parsed(header["experiment"]))
        return Checkpoint(experiment=experiment, tensors=tensors, **parsed(header["state"]))
    except (KeyError, TypeError, ValueError) as failure:
        raise CheckpointError(f"{path} is not a checkpoint of stawm ({failure!r}); {CURE}") from failure


def _check_header(path: Path, header: dict[str, str]) -> None:
    """Refuse the header of another format, or one that was changed."""
    if int(header["format"]) not in READ:
        known = " and ".join(map(str, READ))
        raise CheckpointError(
            f"{path} has format {header['format']}, this stawm reads {known}; use the stawm that wrote it"
        )
    unsealed(header, must=int(header["format"]) > 1)


def list_checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first; leftovers of unfinished writing are not among them."""
    return sorted((run / CHECKPOINTS).glob("step-*.safetensors"))


def newest_checkpoint(run: Path) -> Checkpoint | None:
    """The newest checkpoint of a run that is whole, or none if it died before the first.

    Of one that is not whole this is said; if none is, it is a `CheckpointError`.
    """
    broken: list[CheckpointError] = []
    for path in reversed(list_checkpoints(run)):
        try:
            whole = load_checkpoint(path)
        except CheckpointError as failure:
            broken.append(failure)
            continue
        for failure in broken:
            logger.warning("%s; %s before it is used", str(failure).removesuffix(f"; {CURE}"), path.name)
        return whole
    if broken:
        raise broken[0]
    return None


def records_of(run: Path) -> list[dict[str, Any]]:
    """The records of the epochs that the newest checkpoint knows of; only its header is read."""
    return list(_newest_state(run).get("records") or [])


def precision_of(run: Path) -> str | None:
    """The precision that the run was begun in, from its newest checkpoint; none if it has no whole one."""
    state = _newest_state(run)
    return state.get("precision", "32") if state else None


def _newest_state(run: Path) -> dict[str, Any]:
    """What the newest checkpoint whose header is whole says besides its tensors; nothing if there is none."""
    for path in reversed(list_checkpoints(run)):
        with suppress(SafetensorError, OSError, KeyError, TypeError, ValueError, CheckpointError):
            with safe_open(path, framework="pt") as file:
                header = dict(file.metadata() or {})
            _check_header(path, header)
            return dict(parsed(header["state"]))
    return {}


def begin(run: Path, experiment: Experiment) -> None:
    """Make `run` the folder of a new run."""
    write_json(run / EXPERIMENT, experiment.to_dict())


def holds_run(run: Path) -> bool:
    """Whether a run was begun in this folder."""
    return (run / EXPERIMENT).exists() or bool(list_checkpoints(run))


def check_free(run: Path) -> None:
    """Refuse to begin a run in a folder that holds one."""
    if holds_run(run):
        raise UsageError(f"{run} already holds a run; go on with it (--resume) or choose another folder")


def experiment_of(run: Path, *, resume: bool = False) -> Experiment:
    """The experiment of the run in this folder, which is to be resumed or only looked at."""
    path = run / EXPERIMENT
    if not path.exists():
        raise CheckpointError(
            f"there is no run in {run} (no {EXPERIMENT}); give the folder of one"
            f"{', or start one without --resume' if resume else ''}"
        )
    try:
        return Experiment.from_dict(read_json(path))
    except (OSError, ValueError, TypeError, CheckpointError) as failure:
        raise CheckpointError(f"{path} cannot be read ({failure}); {CURE}") from failure


def check_same(wanted: Experiment, stored: Experiment, run: Path) -> None:
    """Refuse to resume `run` with other settings than it was begun with, naming the first that differs.

    Words about the experiment may differ; nothing else may, not even the number of epochs, on which schedules depend.
    """
    difference = first_difference(wanted.to_dict(words=False), stored.to_dict(words=False))
    if difference:
        name, asked, begun = difference
        raise CheckpointError(
            f"the run in {run} was begun with {name} = {begun!r}, not {asked!r}; resume it as it was or start a new one"
        )


def sweep(run: Path, step: int) -> None:
    """Remove from the folder of a run at `step` what dead processes left behind, and checkpoints that are not whole."""
    for folder in (run, *(inside for inside in run.glob("*") if inside.is_dir())):
        files.sweep(folder)
    for path in list_checkpoints(run):
        if path.name > _name(step):
            path.unlink(missing_ok=True)


def digest_of(tensors: dict[str, Tensor]) -> str:
    """The SHA-256 of tensors with their names, types and shapes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def tensor_bytes(tensors: dict[str, Tensor], header: dict[str, str]) -> bytes:
    """A safetensors file of tensors and a header of strings, as bytes."""
    return save({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, metadata=header)


def read_tensors(path: Path, cure: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the header of a safetensors file; one that is missing or not whole is a `CheckpointError`."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except FileNotFoundError as failure:
        raise CheckpointError(f"there is no {path}; {cure}") from failure
    except (SafetensorError, OSError, ValueError) as failure:
        raise CheckpointError(f"{path} is truncated or damaged ({failure}); {cure}") from failure


def broken_tensor(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of the first tensor that holds NaN or infinity; none if all are sound."""
    return next((name for name, value in tensors.items() if not value.isfinite().all()), None)


def not_finite(what: str, model: nn.Module) -> CheckpointError:
    """The error that `what` a model made is not finite, with the weight that is to blame if there is one."""
    weight = broken_tensor(model.state_dict())
    because = f"for its weight {weight} holds NaN or infinity" if weight else "though all of its weights are"
    return CheckpointError(f"the model's numbers are not finite ({what}), {because}; load or train it again")


def first_difference(wanted: Any, stored: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The dotted name of the first of nested settings that differs, with the value wanted and the one stored."""
    if isinstance(wanted, dict) and isinstance(stored, dict):
        for key in wanted | stored:
            found = first_difference(wanted.get(key), stored.get(key), f"{name}.{key}" if name else key)
            if found:
                return found
        return None
    return None if wanted == stored else (name, wanted, stored)


def _name(step: int) -> str:
    return f"step-{step:08d}.safetensors"
