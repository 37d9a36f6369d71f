"""One loop for one process, several GPUs and several machines: Lightning Fabric, launched by `torchrun` or not."""

import atexit
import hashlib
import os
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from stawm.errors import UsageError
from stawm.experiments.experiment import TrainingConfig
from stawm.training.allocator import keep_freed_memory

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.precision import MixedPrecision

EMITTER, INVERSE = "policy.emitter", "policy.inverse"
"""What chooses where to look, and where sketches are pasted."""
STARTS = ".starts"
"""How the names of learnt starts of glimpses end."""


def start_engine(accelerator: str = "auto", precision: str = "32") -> "Fabric":
    """Fabric on one device or, when `torchrun` started this process, as one of its processes (DDP; gloo on the CPU).

    `precision` is one that this machine can compute in (`stawm.precision.resolved`). The group of processes lasts as
    long as they do: torchrun's meeting place does not let them meet a second time.
    """
    keep_freed_memory()
    try:
        from lightning_fabric import Fabric
    except ImportError as failure:
        raise UsageError("training needs lightning-fabric: pip install 'stawm[train]'") from failure
    here, everywhere = (int(os.environ.get(name, "1")) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
    strategy = "ddp" if "WORLD_SIZE" in os.environ else "auto"
    try:
        engine = Fabric(
            accelerator=accelerator,
            devices=here,
            num_nodes=everywhere // here,
            strategy=strategy,
            plugins=_mixing(precision, accelerator),
        )
    except (ValueError, RuntimeError) as failure:
        reason = " ".join(str(failure).split())
        raise UsageError(f"cannot train on device {accelerator!r}: {reason}; use auto or cpu") from failure
    engine.launch()
    if strategy == "ddp":
        atexit.register(_part)
    return engine


def _part() -> None:
    """End the group of processes while Python still runs: gloo's threads may abort a process that exits with them.

    NCCL's group is left to the end of its process, for it would wait for processes that have failed.
    """
    if torch.distributed.is_initialized() and torch.distributed.get_backend() == "gloo":
        torch.distributed.destroy_process_group()


def _mixing(precision: str, accelerator: str) -> "MixedPrecision | None":
    """Fabric's part for half precision; unlike its own, it leaves pictures exact: losses compare with them."""
    if precision == "32":
        return None
    from lightning_fabric.plugins.precision import MixedPrecision

    class Mixing(MixedPrecision):
        def convert_input(self, data: Any) -> Any:
            return data

    on_gpu = torch.cuda.is_available() and accelerator in ("auto", "cuda", "gpu")
    return Mixing(cast(Any, precision), "cuda" if on_gpu else "cpu")


def seed_of(*numbers: int) -> int:
    """One seed from several numbers (seed, epoch, step, process), so that nothing random needs to be carried along."""
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def generator_of(*numbers: int) -> torch.Generator:
    """A generator that starts from `seed_of` these numbers."""
    return torch.Generator().manual_seed(seed_of(*numbers))


def optimiser_for(model: nn.Module, config: TrainingConfig, *, fused: bool = True) -> torch.optim.Adam:
    """Adam or AdamW over the weights that learn; matrices decay; biases, norms, rates and starts of glimpses do not.

    A start is a place, and decay would pull it to the middle. It stays among the matrices, in a group of its own, for
    the state of the optimiser is stored by the order of all weights: checkpoints from before still fit.
    Each group has its `share` of the learning rate (a learning-rate multiplier): `config.pose_share` for the emitter of
    poses, `config.paste_share` for that of inverse poses, else 1. Fused: the same numbers, faster on a CPU; a fused one
    cannot be clipped where losses are scaled (16-mixed).
    """
    shares = {EMITTER: config.pose_share, INVERSE: config.paste_share}
    learning = [
        (shares.get(".".join(name.split(".")[:2]), 1.0), name.endswith(STARTS), weight)
        for name, weight in model.named_parameters()
        if weight.requires_grad
    ]
    groups = []
    for share in dict.fromkeys((1.0, *shares.values())):
        for is_matrix in (True, False):
            part = [each for each in learning if each[0] == share and (each[2].dim() > 1) == is_matrix]
            for is_start, run in groupby(part, lambda each: each[1]):
                decay = config.weight_decay if is_matrix and not is_start else 0.0
                groups.append({"params": [weight for *_, weight in run], "weight_decay": decay, "share": share})
    kind = torch.optim.AdamW if config.optimiser == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.learning_rate, fused=fused)


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimiser as flat named tensors: `place/name` for each weight."""
    state = optimiser.state_dict()["state"]
    return {f"{place}/{name}": value for place, values in state.items() for name, value in values.items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimiser_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        place, name = key.split("/")
        state.setdefault(int(place), {})[name] = value.clone()
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def random_tensors(engine: "Fabric") -> dict[str, Tensor]:
    """The random states of all processes, by process: of the CPU, and of the GPU where there is one."""
    own = {"cpu": torch.get_rng_state()}
    if engine.device.type == "cuda":
        own["cuda"] = torch.cuda.get_rng_state(engine.device)
    states = {}
    for name, state in own.items():
        everyone = engine.all_gather(state.to(engine.device)) if engine.world_size > 1 else state[None]
        assert isinstance(everyone, Tensor)
        states |= {f"{name}/{process}": each.cpu() for process, each in enumerate(everyone)}
    return states


def restore_random(engine: "Fabric", tensors: dict[str, Tensor]) -> None:
    """Put back what `random_tensors` gave for this process."""
    torch.set_rng_state(tensors[f"cpu/{engine.global_rank}"])
    if engine.device.type == "cuda":
        torch.cuda.set_rng_state(tensors[f"cuda/{engine.global_rank}"], engine.device)
