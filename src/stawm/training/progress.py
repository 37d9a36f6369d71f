"""Where a run stands, and the sums from which the record of its epoch is made."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stawm.training.engine import Sums, add_up

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass
class Progress:
    """Where a run stands: what a checkpoint keeps besides tensors."""

    step: int = 0
    epoch: int = 0
    position: int = 0
    sums: Sums = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, measured: dict[str, float]) -> None:
        """Add the measures of one more step."""
        for name, value in measured.items():
            total = self.sums.setdefault(name, [0.0, 0.0])
            total[0] += value
            total[1] += 1
        self.step += 1
        self.position += 1

    def means(self, prefix: str) -> dict[str, float]:
        """The means over the epoch so far of the measures with this prefix, which is taken off."""
        found = {name: pair for name, pair in self.sums.items() if name.startswith(prefix)}
        return {name.removeprefix(prefix): total / count for name, (total, count) in found.items()}


def levelled(engine: "Fabric", sums: Sums) -> Sums:
    """The sums averaged over the processes, so that all hold the same."""
    return {name: [each / engine.world_size for each in pair] for name, pair in add_up(engine, sums).items()}
