"""Where a run stands, and the sums from which the record of its epoch is made."""

from dataclasses import dataclass, field

from stawm.measure.sums import Sums, add, means


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
        add(self.sums, measured)
        self.step += 1
        self.position += 1

    def means(self, prefix: str) -> dict[str, float]:
        """The means over the epoch so far of the measures with this prefix, which is taken off."""
        return means(self.sums, prefix)
