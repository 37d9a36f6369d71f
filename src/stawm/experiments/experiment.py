"""An experiment as data: small frozen records that compose, go to JSON and come back."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

import dacite

from stawm.errors import CheckpointError

Record = TypeVar("Record")

Read = Literal["codes", "responses"]
Form = Literal["auto", "trace", "matrix"]
Where = Literal["emission", "pose"]
Block = Literal["norm3", "plain4", "mobilenet-v2"]
Canvas = Literal["addition", "bernoulli"]
Divergence = Literal["concatenated", "joint"]
Kind = Literal["stawm", "vae"]
Learns = Literal["all", "head"]
Sampling = Literal["bilinear", "bicubic"]
Schedule = Literal["constant", "decay", "one-cycle"]


@dataclass(frozen=True)
class ImageConfig:
    """The pictures a model takes."""

    channels: int = 1
    height: int = 28
    width: int = 28


@dataclass(frozen=True)
class CnnConfig:
    """A stack of convolutions: `norm3` is 3×3, batch norm, ReLU (MNIST); `plain4` is 4×4 with bias, ReLU.

    `mobilenet-v2` is that whole network, which has filters and strides of its own.
    """

    filters: tuple[int, ...] = (64, 128, 256)
    strides: tuple[int, ...] = (2, 2, 2)
    block: Block = "norm3"


@dataclass(frozen=True)
class MemoryConfig:
    """The Hebb-Rosenblatt memory: what is matched on reading, and its three rates."""

    size: int = 256
    read: Read = "codes"
    activation: str = "relu6"
    form: Form = "auto"
    learn_rates: bool = False
    delta: float = 0.2
    eta: float = 0.4
    theta: float = 0.5


@dataclass(frozen=True)
class DrawConfig:
    """The drawing head: how a recall becomes a sketch, and sketches a canvas."""

    latent: int = 0
    """Numbers in the latent space of each glimpse; 0 is a model that does not draw."""
    canvas: Canvas = "addition"
    start: float = -6.0
    """What the addition canvas is filled with at first: −6 is black, 0 grey."""
    temperature: float = 2.0
    """Of the Concrete masks of the Bernoulli canvas."""


@dataclass(frozen=True)
class ModelConfig:
    """Everything that decides the shape of the network."""

    kind: Kind = "stawm"
    """The paper's model, or its β-VAE baseline: the glimpse network over the whole image, no glimpses, no memory."""
    image: ImageConfig = ImageConfig()
    classes: int = 10
    """Classes to tell apart; 0 is a model that does not classify."""
    draw: DrawConfig = DrawConfig()
    glimpses: int = 8
    glimpse_height: int = 8
    glimpse_width: int = 8
    glimpse_scale: float = 1.0
    """The share of each side of the image that glimpses cover before training: 1, the whole, in the paper."""
    hidden: int | None = None
    """Width of both RNNs; twice the memory if not given."""
    context: CnnConfig = CnnConfig()
    glimpse: CnnConfig = CnnConfig(filters=(64, 128), strides=(1, 2))
    memory: MemoryConfig = MemoryConfig()
    where: Where = "emission"
    """What the `where` pathway sees: the emission RNN's output (paper) or the six pose numbers (scripts)."""
    dropout: float = 0.5

    @property
    def hidden_size(self) -> int:
        """Width of both RNNs."""
        return 2 * self.memory.size if self.hidden is None else self.hidden


@dataclass(frozen=True)
class DataConfig:
    """Which pictures, and how each batch of them is varied in training."""

    name: str = "mnist"
    """A named data set (`stawm data list`) or folder:PATH."""
    rotate: float = 20.0
    """Largest random rotation, in degrees."""
    warp: float = 0.0
    """Random elastic warp: the standard deviation of a pixel's displacement, in pixels."""
    sampling: Sampling = "bilinear"
    """How rotated and warped pictures are interpolated; bicubic blurs thin strokes less."""
    shift: int = 0
    """Largest random shift in pixels, either way (a random crop after zero padding)."""
    flip: bool = False
    """Mirror left and right at random."""
    jitter: float = 0.0
    """Largest relative change of brightness, contrast, saturation and hue."""
    views: int = 0
    """For a frozen model: each picture as it is and views - 1 variations of it, stored; 0 is a new one each epoch."""
    hold_out: int = 0
    """The last so-many training pictures are kept for validation and measured on, instead of the test set."""

    @property
    def varies(self) -> bool:
        """Whether the pictures of a batch differ from one epoch to the next."""
        return bool(self.rotate or self.warp or self.shift or self.flip or self.jitter)


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained."""

    epochs: int = 200
    batch_size: int = 128
    """Pictures a step over all processes together."""
    optimiser: Literal["adam", "adamw"] = "adam"
    learning_rate: float = 1e-3
    """The starting rate; the peak for one-cycle."""
    weight_decay: float = 0.0
    schedule: Schedule = "decay"
    decay: float = 0.99
    """Factor after each epoch (schedule `decay`)."""
    milestones: tuple[int, ...] = ()
    """Epochs after which the rate is divided by ten (schedule `decay`)."""
    warmup: float = 0.0
    """Share of all steps in which the rate rises (linearly) to its full value."""
    pose_share: float = 1.0
    """The learning rate of the emitter of poses, as a share of that of all else: less keeps glimpses on the image."""
    paste_share: float = 1.0
    """The same for the emitter of inverse poses, by which sketches are pasted: less keeps sketches sharp."""
    clip_norm: float = 5.0
    """Largest norm of the gradient, which is shortened to it (0: never)."""
    label_smoothing: float = 0.0
    average: float = 0.0
    """Decay of the running average of the weights (0: none); evaluation and export use the average."""
    settle: int = 0
    """Batches of unvaried pictures for new statistics of batch norm: after training, or before a head learns."""
    checkpoint_every: int = 250
    """Steps between checkpoints (0: none); there is always one at the end of an epoch."""
    start_from: str = ""
    """Trained weights to start from: a run, a folder of weights, or the name of weights that come with the package."""
    learns: Learns = "all"
    """Everything, or (self-supervised classification) the new classifier and the memory's rates; the rest is frozen."""


@dataclass(frozen=True)
class ObjectiveConfig:
    """What an episode is judged by: each head's loss and its weight."""

    classify: float = 1.0
    """Weight of the cross entropy."""
    anytime: float = 0.0
    """Weight, within it, of the answers before the last one (0: only the last counts, as in the paper)."""
    draw: float = 1.0
    """Weight of squared error and divergence."""
    beta: float = 4.0
    beta_scale: float = 128.0
    """The divergence counts β / this, for each image: 128 as in the paper's figures, 1 for the true β."""
    divergence: Divergence = "concatenated"


@dataclass(frozen=True)
class Experiment:
    """A named experiment: where it stands in the paper, the number to reach, and all of its settings."""

    name: str
    about: str = ""
    paper: str = ""
    """Place in the paper."""
    reach: str = ""
    """The number to reach, in words."""
    deviations: tuple[str, ...] = ()
    """Departures from the paper, each with its reason."""
    after: str = ""
    """The preset to train first: `training.start_from` names its run."""
    seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)

    def to_dict(self) -> dict[str, Any]:
        """This experiment as plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> "Experiment":
        """The experiment that `to_dict` wrote; an unknown or misfit field is named."""
        return record_from_dict(Experiment, values)


def record_from_dict(kind: type[Record], values: dict[str, Any]) -> Record:
    """A config record from plain JSON values (tuples come back from lists); unknown and misfit fields are named."""
    try:
        return dacite.from_dict(kind, values, dacite.Config(strict=True, cast=[tuple]))
    except (dacite.DaciteError, TypeError) as failure:
        raise CheckpointError(f"this {kind.__name__} was not written by this version of stawm: {failure}") from failure
