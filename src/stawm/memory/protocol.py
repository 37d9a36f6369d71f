"""What every memory can do, whatever its rule: start, write, recall, and whole sequences, asked throughout or at last.

A state is a frozen value that holds all that the next write needs; `write` returns a new one and `recall` only reads.
The module owns parameters, never states. A rule is one file: its settings (a `MemoryConfig` whose fields are the
arguments of the rule) and the rule (a `Memory`), which enters itself in `MEMORIES` by name.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm.errors import UsageError
from stawm.ranges import Range
from stawm.registry import Registry

MEMORIES: "Registry[type[Memory]]" = Registry("memory rule", home="stawm.memory", group="stawm.memories")
"""The rules by name; `--model.memory.rule` chooses one."""
RATES = "starting_rates"
"""What the rates are called in a `state_dict`."""


@dataclass(frozen=True)
class MemoryConfig:
    """The settings that every memory has; a rule adds its own in a record derived from this one."""

    rule: str = ""
    """The name of the rule."""
    size: Annotated[int, Range(low=1, high=16_384)] = 256
    """M, the width of codes, queries and recalls."""

    free: ClassVar[tuple[str, ...]] = ()
    """Settings in which a run may differ from the weights that it starts from."""


@dataclass(frozen=True)
class Recalls:
    """What a query, or each of several, reads back after each write (the intermediate memory), and the last state."""

    recalls: Float[Tensor, "batch *query count memory"]
    state: Any

    @property
    def terminal(self) -> Float[Tensor, "batch *query memory"]:
        """What the query reads back from the terminal memory."""
        return self.recalls[..., -1, :]


@dataclass(frozen=True)
class Contents:
    """What a memory is made of after each write of a sequence: W_t = Σ_i strengths[t, i] inputs_i ⊗ outputs_i.

    `asked` is what each write should be found by, and `wanted` what should then come back.
    """

    inputs: Float[Tensor, "batch count memory"]
    outputs: Float[Tensor, "batch count memory"]
    strengths: Float[Tensor, "count count"]
    asked: Float[Tensor, "batch count memory"]
    wanted: Float[Tensor, "batch count memory"]


class Memory(nn.Module, ABC):
    """A memory over any sequence of codes. A rule must say how to start, write and recall; the rest has defaults."""

    Config: ClassVar[type[MemoryConfig]] = MemoryConfig
    """The record of the rule's settings."""
    size: int
    bound: float = float("inf")
    """The most that a unit of a recall can be: at it no gradient passes, but for a layer norm (`unnormalised`)."""
    starting_rates: tuple[float, ...] = ()
    """The rates that a rule was given. A `state_dict` holds them, and whoever loads it computes with them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_state_dict_post_hook(_add_rates)
        self.register_load_state_dict_pre_hook(_take_rates)

    def check_rates(self, *rates: float) -> None:
        """Refuse rates that this rule cannot take, with a `UsageError`."""

    @abstractmethod
    def start(self, batch: int, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Any:
        """The empty memory of `batch` sequences."""

    @abstractmethod
    def write(self, state: Any, code: Float[Tensor, "batch memory"]) -> Any:
        """The state after `code` is written; the state given stays as it was."""

    @abstractmethod
    def recall(self, state: Any, query: Float[Tensor, "batch memory"]) -> Float[Tensor, "batch memory"]:
        """What `query` reads back; the memory is only read."""

    @abstractmethod
    def norm(self, state: Any) -> Float[Tensor, "batch"]:
        """How much the memory holds: the Frobenius norm of W, for a rule that has one."""

    def unnormalised(
        self, state: Any, query: Float[Tensor, "batch memory"]
    ) -> tuple[Float[Tensor, "batch memory"], float] | None:
        """The units that a recall is a layer norm of, and the most that one can be: at it no gradient passes.

        None for a rule whose recalls are no layer norm; they are then themselves what can be stuck.
        """
        return None

    def state_size(self, count: int) -> int | None:
        """How many numbers one sequence needs after `count` writes, in the smallest form of the state.

        None for a rule that does not say. A rule's W counts as M² numbers.
        """
        return None

    def matrix(self, state: Any) -> Float[Tensor, "batch memory memory"] | None:
        """W, input by output; none for a rule without one."""
        return None

    def contents(self, codes: Float[Tensor, "batch count memory"]) -> Contents | None:
        """What a memory of these codes is made of, for pictures of it; none for a rule that cannot tell."""
        return None

    def health(self, state: Any) -> dict[str, Float[Tensor, ""]]:
        """Named numbers about the memory that a run writes down."""
        return {"memory_norm": self.norm(state).mean()}

    def forward(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What `query` reads back after each of `codes` is written to an empty memory, and the state at the end.

        Several queries, [batch query memory], are put to the same memory; it is written once.
        """
        self.check_codes(codes, query)
        queries = query.reshape(codes.shape[0], -1, self.size).unbind(1)
        state = self.start(codes.shape[0], device=codes.device, dtype=codes.dtype)
        recalls = []
        for code in codes.unbind(1):
            state = self.write(state, code)
            recalls.append(torch.stack([self.recall(state, one) for one in queries], 1))
        return Recalls(torch.stack(recalls, 2).reshape(*query.shape[:-1], *codes.shape[1:]), state)

    def at_end(
        self, codes: Float[Tensor, "batch count memory"], query: Float[Tensor, "batch *query memory"]
    ) -> Recalls:
        """What `query` reads back from the terminal memory alone: the last of the recalls of `forward`, and the state.

        For whoever is asked after looking: n queries are n recalls then, and not n after each write.
        """
        self.check_codes(codes, query)
        state = self.start(codes.shape[0], device=codes.device, dtype=codes.dtype)
        for code in codes.unbind(1):
            state = self.write(state, code)
        queries = query.reshape(codes.shape[0], -1, self.size).unbind(1)
        recalls = torch.stack([self.recall(state, one) for one in queries], 1)
        return Recalls(recalls.reshape(query.shape).unsqueeze(-2), state)

    def check_codes(self, codes: Tensor, query: Tensor) -> None:
        """Refuse a sequence that is empty or of another width, and a query that is not of the same kind."""
        whole = isinstance(codes, Tensor) and codes.dim() == 3 and all(codes.shape) and codes.is_floating_point()
        if not whole or codes.shape[2] != self.size:
            raise UsageError(
                f"{_kind(codes)} cannot be written; give floats of shape [batch, codes, {self.size}], "
                "at least one of each"
            )
        fits = (
            isinstance(query, Tensor)
            and query.dim() > 1
            and query.shape[0] == codes.shape[0]
            and query.shape[-1] == self.size
        )
        if fits and query.dtype != codes.dtype:
            fits = torch.is_autocast_enabled(codes.device.type)
        if not fits or query.device != codes.device:
            raise UsageError(
                f"{_kind(query)} cannot be asked after {_kind(codes)}; give the same type and device, and the shape "
                f"[{codes.shape[0]}, {self.size}] or [{codes.shape[0]}, queries, {self.size}]"
            )

    def fitted(self, vector: Tensor, held: Tensor | None) -> Tensor:
        """A code or a query in the precision of `held`, a tensor of the state; refused if it does not fit that."""
        if not isinstance(held, Tensor):
            raise UsageError("this is no state of this memory; give what `start` or `write` returned")
        wanted = (held.shape[0], self.size)
        if (
            not isinstance(vector, Tensor)
            or tuple(vector.shape) != wanted
            or not vector.is_floating_point()
            or vector.device != held.device
        ):
            raise UsageError(
                f"{_kind(vector)} does not fit a memory of {_kind(held)}; give floats of shape {list(wanted)} on its "
                "device"
            )
        return vector.to(held.dtype)

    def check_size(self, size: int) -> None:
        """Refuse a memory of no width."""
        if not isinstance(size, int) or size < 1:
            raise UsageError(f"memory size {size!r} is too small or no whole number; give at least 1")

    def check_batch(self, batch: int) -> None:
        """Refuse to start a memory of no sequence."""
        if not isinstance(batch, int | torch.SymInt) or batch < 1:
            raise UsageError(f"a memory of {batch!r} sequences cannot be started; give a whole number of at least 1")


def _kind(tensor: object) -> str:
    if not isinstance(tensor, Tensor):
        return f"a {type(tensor).__name__}"
    return f"{tensor.dtype} of shape {list(tensor.shape)} on {tensor.device}"


def _add_rates(memory: nn.Module, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    """Put the rates beside the weights; in double precision, so that they come back as they were."""
    assert isinstance(memory, Memory)
    if memory.starting_rates:
        state[prefix + RATES] = torch.tensor(memory.starting_rates, dtype=torch.float64)


def _take_rates(memory: nn.Module, state: dict[str, Tensor], prefix: str, *rest: Any) -> None:
    """Take the rates of a state over; one that was written before they stood in it leaves them as they are."""
    assert isinstance(memory, Memory)
    own, errors = memory.starting_rates, rest[-1]
    if not own or prefix + RATES not in state:
        return
    rates = tuple(state.pop(prefix + RATES).double().flatten().tolist())
    try:
        if len(rates) != len(own):
            raise UsageError(f"there are {len(rates)} rates; give {len(own)}")
        memory.check_rates(*rates)
    except UsageError as failure:
        errors.append(f"{prefix}{RATES}: {failure}")
    else:
        memory.starting_rates = rates


def build_memory(config: MemoryConfig) -> Memory:
    """The memory of these settings."""
    rule = MEMORIES[config.rule]
    return rule(**{part.name: getattr(config, part.name) for part in fields(config) if part.name != "rule"})


def other_rule(memory: MemoryConfig, rule: str) -> MemoryConfig:
    """The settings of another memory rule, with what all rules share kept; the same rule stays as it is."""
    if rule == memory.rule:
        return memory
    shared: dict[str, Any] = {part.name: getattr(memory, part.name) for part in fields(MemoryConfig)}
    shared["rule"] = rule
    return MEMORIES[rule].Config(**shared)
