"""An experiment as data: small frozen records that compose, go to JSON and come back."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from textwrap import shorten
from typing import Annotated, Any, Literal, TypeVar

import dacite

from stawm.baselines.rival import RIVALS, STAWM, RivalConfig
from stawm.data.augment import Sampling
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.facts import Departure, Goal, Published
from stawm.experiments.upgrade import upgraded
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.memory.protocol import MEMORIES, MemoryConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.head import HEADS, HeadConfig
from stawm.model.policy import Poses, Starts
from stawm.model.scan import Order
from stawm.model.stawm import Where
from stawm.precision import Precision
from stawm.ranges import ABOVE_0, AT_LEAST_0, BELOW_1, COUNT, SHARE, SIDE, WIDTH, Range, check_ranges, leaves

Record = TypeVar("Record")

Block = Literal["norm3", "plain4", "mobilenet-v2"]
Schedule = Literal["constant", "decay", "one-cycle"]
ALL = "all"
"""What `training.learns` is called when nothing is frozen."""
SETTINGS = ("name", "seed", "model", "data", "training")
"""What makes a run; all other fields of an experiment are words and facts about it, and make no other run."""

LONGEST = 300
"""Letters of a reason: a value that does not fit may be any length."""


@dataclass(frozen=True)
class ImageConfig:
    """The pictures a model takes."""

    channels: Annotated[int, Range(low=1, high=1024)] = 1
    height: Annotated[int, SIDE] = 28
    width: Annotated[int, SIDE] = 28

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.channels, self.height, self.width


@dataclass(frozen=True)
class CnnConfig:
    """A stack of convolutions: `norm3` is 3×3, batch norm, ReLU (MNIST); `plain4` is 4×4 with bias, ReLU.

    `mobilenet-v2` is that whole network, which has filters and strides of its own.
    """

    filters: Annotated[tuple[int, ...], WIDTH] = (64, 128, 256)
    strides: Annotated[tuple[int, ...], SIDE] = (2, 2, 2)
    block: Block = "norm3"


@dataclass(frozen=True)
class PolicyConfig:
    """Who decides where to look, and where glimpses start."""

    kind: Literal["learnt", "scan", "random"] = "learnt"
    """The paper's RNNs; or places that are given: the cells of a grid, one after another, or any."""
    starts: Starts = "one"
    """Where the glimpses of a learnt policy are before training: at one place (paper), or each at its own.

    `grid`: spread evenly, row by row; `outward`: at the same places, those next to the middle first. `inward`: all in
    the middle; the first sees the whole picture, each later one less, the last `glimpse_scale`."""
    far_first: bool = False
    """Whether each glimpse starts as far as can be from those before it (by size, if they start inward).

    A few glimpses then stand for all, as `training.glimpses` wants; else a grid begins with its first row."""
    poses: Poses = "affine"
    """Of a learnt policy: any affine map (paper), or upright windows at what stands out in the overview.

    `salient` finds small things in large pictures far sooner: what is learnt of a thing at one place holds at all."""
    rows: Annotated[int, Range(low=1, high=64)] = 1
    """Of the grid that is scanned."""
    columns: Annotated[int, Range(low=1, high=64)] = 1
    order: Order = "shuffled"
    """In which the cells are scanned: anew for each picture, or row by row."""


@dataclass(frozen=True)
class ModelConfig:
    """The network, and what its heads are judged by."""

    kind: str = STAWM
    """The paper's model, or a rival by its name: vae (the paper's baseline), ram, draw, draw-reader, stn, cnn."""
    image: ImageConfig = ImageConfig()
    picture_mean: Annotated[tuple[float, ...], SHARE] = ()
    """Of each channel: taken from pictures before they are seen (scripts); none: seen as they are, in [0, 1]."""
    picture_deviation: Annotated[tuple[float, ...], Range(open_low=True, high=1.0)] = ()
    """Of each channel: what is left is divided by it."""
    heads: dict[str, HeadConfig] = field(default_factory=lambda: {"classify": ClassifyConfig()})
    """The questions put to the memory, by name."""
    glimpses: Annotated[int, Range(low=1, high=1024)] = 8
    glimpse_height: Annotated[int, SIDE] = 8
    glimpse_width: Annotated[int, SIDE] = 8
    glimpse_scale: Annotated[float, ABOVE_0] = 1.0
    """The share of each side of the image that glimpses cover before training: 1, the whole, in the paper."""
    glimpse_scales: Annotated[int, Range(low=1, high=8)] = 1
    """Views in one glimpse, each twice as wide and coarse as the one before, about the same centre (1: one, paper).

    A wider view shows what lies beside a small glimpse, and so where to look next."""
    policy: PolicyConfig = PolicyConfig()
    overview: Annotated[int, SIDE] = 1
    """The context sees pictures averaged over squares of so many pixels (1: as they are, as in the paper)."""
    overview_size: Annotated[int, Range(high=4096)] = 0
    """The context sees pictures averaged down to so many pixels a side, whatever their own (0: as `overview` says).

    The cost of a look then does not grow with the picture, and the model takes pictures of any side."""
    hidden: Annotated[int | None, Range(low=2, high=65_536)] = None
    """Width of both RNNs; twice the memory if not given."""
    context: CnnConfig = CnnConfig()
    glimpse: CnnConfig = CnnConfig(filters=(64, 128), strides=(1, 2))
    memory: MemoryConfig = field(default_factory=HebbRosenblattConfig)
    where: Where = "emission"
    """What the `where` pathway sees: the emission RNN's output (paper) or the six pose numbers (scripts)."""
    dropout: Annotated[float, BELOW_1] = 0.5
    rival: RivalConfig = field(default_factory=RivalConfig)
    """The settings that only a rival of this kind has."""

    @property
    def classes(self) -> int:
        """Classes that the model tells apart; 0 if it does not classify."""
        head = self.heads.get("classify")
        return head.classes if isinstance(head, ClassifyConfig) else 0

    @property
    def draws(self) -> DrawConfig | None:
        """The settings of the drawing head; none of a model that does not draw."""
        head = self.heads.get("draw")
        return head if isinstance(head, DrawConfig) else None

    @property
    def compares(self) -> bool:
        """Whether an image is two pictures, one above the other, of which the second is compared with the first."""
        return any(HEADS[name].compares for name in self.heads)

    @property
    def picture(self) -> tuple[int, int, int]:
        """Channels, height and width of what is looked at: the image, or each of the two pictures of it."""
        channels, height, width = self.image.shape
        return channels, height // 2 if self.compares else height, width

    @property
    def glimpse_size(self) -> tuple[int, int]:
        """Height and width of a glimpse."""
        return self.glimpse_height, self.glimpse_width

    @property
    def hidden_size(self) -> int:
        """Width of both RNNs."""
        return 2 * self.memory.size if self.hidden is None else self.hidden


@dataclass(frozen=True)
class DataConfig:
    """Which pictures, and how each batch of them is varied in training."""

    name: str = "mnist"
    """A named data set (`stawm data list`) or folder:PATH."""
    rotate: Annotated[float, Range(high=360)] = 20.0
    """Largest random rotation, in degrees."""
    warp: Annotated[float, Range(high=4096)] = 0.0
    """Random elastic warp: the standard deviation of a pixel's displacement, in pixels."""
    turn: Annotated[float, Range(high=360)] = 0.0
    """Of pictures that are made anew of digits: the largest rotation of a digit before it is put in, in degrees."""
    sampling: Sampling = "bilinear"
    """How rotated and warped pictures are interpolated; bicubic blurs thin strokes less, nearest (scripts) nothing."""
    shift: Annotated[int, Range(high=4096)] = 0
    """Largest random shift in pixels, either way (a random crop after zero padding)."""
    flip: bool = False
    """Mirror left and right at random."""
    jitter: Annotated[float, SHARE] = 0.0
    """Largest relative change of brightness, contrast, saturation and hue."""
    strokes: Annotated[float, SHARE] = 0.0
    """Of MNIST's digits: the share of the 1s that get an upstroke, and of the 7s that get a bar."""
    views: Annotated[int, COUNT] = 0
    """For a frozen model: each picture as it is and views - 1 variations of it, stored; 0 is a new one each epoch."""
    hold_out: Annotated[int, COUNT] = 0
    """The last so-many training pictures are kept for validation and measured on, instead of the test set."""

    @property
    def varies(self) -> bool:
        """Whether the pictures of a batch differ from one epoch to the next."""
        return bool(self.rotate or self.warp or self.shift or self.flip or self.jitter or self.strokes)


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    epochs: Annotated[int, Range(low=1, high=1_000_000_000)] = 200
    batch_size: Annotated[int, Range(low=1, high=1_000_000_000)] = 128
    """Pictures a step over all processes together."""
    optimiser: Literal["adam", "adamw"] = "adam"
    learning_rate: Annotated[float, AT_LEAST_0] = 1e-3
    """The starting rate; the peak for one-cycle."""
    weight_decay: Annotated[float, AT_LEAST_0] = 0.0
    schedule: Schedule = "decay"
    decay: Annotated[float, Range(open_low=True, high=1.0)] = 0.99
    """Factor after each epoch (schedule `decay`)."""
    milestones: Annotated[tuple[int, ...], COUNT] = ()
    """Epochs after which the rate is divided by ten (schedule `decay`)."""
    warmup: Annotated[float, SHARE] = 0.0
    """Share of all steps in which the rate rises (linearly) to its full value."""
    pose_share: Annotated[float, AT_LEAST_0] = 1.0
    """The learning rate of the emitter of poses, as a share of that of all else: less keeps glimpses on the image."""
    paste_share: Annotated[float, AT_LEAST_0] = 1.0
    """The same for the emitter of inverse poses, by which sketches are pasted: less keeps sketches sharp."""
    glimpses: Annotated[tuple[int, ...], Range(low=1, high=1024)] = ()
    """Glimpses of each look in so many equal parts of the run, such as 2 2 10; none: always all that the model has.

    A step costs about as much as its glimpses, so early epochs are cheap (see also `model.policy.far_first`)."""
    sides: Annotated[tuple[int, ...], SIDE] = ()
    """Sides of a square glimpse in so many equal parts of the run, such as 20 20 32; none: always that of the model.

    For a glimpse network that takes any size (mobilenet-v2): smaller ones see as much, but coarser, and are cheaper."""
    spread: Annotated[float, AT_LEAST_0] = 0.0
    """Weight of a term that is 1 if all glimpses of a picture look at one place, and falls as they move apart.

    What glimpses see in common they need not all see; but a task may want them close together, so it is 0."""
    clip_norm: Annotated[float, AT_LEAST_0] = 5.0
    """Largest norm of the gradient, which is shortened to it (0: never)."""
    average: Annotated[float, BELOW_1] = 0.0
    """Decay of the running average of the weights (0: none); evaluation and export use the average."""
    settle: Annotated[int, COUNT] = 0
    """Batches of unvaried pictures for new statistics of batch norm: after training, or before a head learns."""
    precision: Precision = "auto"
    """Of products and convolutions: float32, or half with weights in float32 (mixed); auto: as the machine suits."""
    checkpoint_every: Annotated[int, COUNT] = 250
    """Steps between checkpoints (0: none); there is always one at the end of an epoch."""
    give_up: Annotated[int, COUNT] = 5
    """Dead epochs in a row (no gradient passes and nothing is learnt) after which the run stops (0: never)."""
    start_from: str = ""
    """Trained weights to start from: a run, a folder of weights, or the name of weights that come with the package."""
    learns: str = ALL
    """Everything, or one head by its name (self-supervision): it and the memory's rates learn, the rest is frozen."""


@dataclass(frozen=True)
class Experiment:
    """A named experiment: all of its settings, and what is known of it."""

    name: str
    about: str = ""
    of: str = ""
    """The paper's experiment of which this is a recipe or a small sibling, by name; none for the paper's own."""
    published: Published | None = None
    """What the paper reports; none if the experiment is not in it."""
    goal: Goal | None = None
    """A number of our own to reach."""
    departures: tuple[Departure, ...] = ()
    after: str = ""
    """The preset to train first: `training.start_from` names its run."""
    seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def to_dict(self, *, words: bool = True) -> dict[str, Any]:
        """This experiment as plain JSON values; without words, only what makes a run."""
        values = asdict(self)
        return values if words else {name: values[name] for name in SETTINGS}

    def plain(self) -> "Experiment":
        """The experiment without words."""
        return Experiment(**{name: getattr(self, name) for name in SETTINGS})

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting of model, data and training by its dotted name; found once, since none of them changes."""
        parts = {"model": self.model, "data": self.data, "training": self.training}
        return {name: value for name, value, _ in leaves(parts)}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Experiment":
        """The experiment that `to_dict` wrote, now or before heads had names; an unknown or misfit field is named."""
        experiment = record_from_dict(Experiment, values)
        try:
            check_ranges({part: getattr(experiment, part) for part in ("model", "data", "training")})
        except UsageError as failure:
            raise CheckpointError(str(failure)) from failure
        return experiment


def record_from_dict(kind: type[Record], values: dict[str, Any]) -> Record:
    """A record from plain JSON values (tuples come back from lists); unknown and misfit fields are named."""
    hooks = {Experiment: upgraded, ModelConfig: _model, MemoryConfig: _memory, dict[str, HeadConfig]: _heads}
    try:
        values = _model(values) if kind is ModelConfig else upgraded(values)
        return dacite.from_dict(kind, values, dacite.Config(strict=True, cast=[tuple], type_hooks=hooks))
    except (dacite.DaciteError, UsageError, TypeError, AttributeError, KeyError, ValueError) as failure:
        reason = shorten(str(failure), LONGEST, placeholder=" …")
        raise CheckpointError(f"this {kind.__name__} does not fit this version of stawm: {reason}") from failure


def _model(values: Any) -> Any:
    """The values of a model with the record of its rival, which its kind tells the type of."""
    if not isinstance(values, dict) or values.get("kind", STAWM) == STAWM or not isinstance(values["kind"], str):
        return values
    return values | {"rival": record_from_dict(RIVALS[values["kind"]].Config, values.get("rival", {}))}


def _memory(values: dict[str, Any]) -> MemoryConfig:
    return record_from_dict(MEMORIES[values["rule"]].Config, values)


def _heads(values: dict[str, Any]) -> dict[str, HeadConfig]:
    return {name: record_from_dict(HEADS[name].Config, part) for name, part in values.items()}
