"""A trained model as one file for programs without stawm: ONNX for onnxruntime, or a program of torch.export.

Input: `images` [batch channel height width], floats in [0, 1]; any batch. Outputs, as the model has them, by name:
`poses` and `glimpses` of every look, `logits` after each, `canvases` and `masks` of a drawing. What the file holds is
told in its metadata: classes, preparation of pictures, versions.
"""

import copy
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from stawm import __version__
from stawm.baselines.rival import Looked, Rival
from stawm.data.data_set import learnt_from
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import Model
from stawm.files import whole_file
from stawm.model.heads.classify import Belief
from stawm.model.heads.draw import Depiction
from stawm.model.heads.head import Answer
from stawm.model.scan import Scan
from stawm.model.stawm import Episode, Stawm
from stawm.store.weights import Trained

Kind = Literal["onnx", "torch"]
OPSET = 20
"""The first with GridSample and AffineGrid as they are needed here."""
TOLERANCE = 1e-3
"""A file whose outputs differ from the model's by more than this is not kept."""
METADATA = "stawm.json"
"""Where a torch.export file has what ONNX keeps in its metadata."""
EXAMPLES = 3


class Portable(nn.Module):
    """A model as a plain function: images in, named tensors out. A scan goes row by row: files draw no chances."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        if isinstance(model, Stawm) and isinstance(model.policy, Scan):
            if model.policy.cells is None:
                raise UsageError("a model that looks at random places cannot be exported; give one that learnt where")
            model = copy.deepcopy(model)
            setattr(model.policy, "order", "rows")  # noqa: B010 - the copy's type is not narrowed
        if isinstance(model, Rival):
            model.check_portable()
        self.model = model

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> dict[str, Tensor]:
        """Where the model looked, what it saw, and what each of its heads answered."""
        found = self.model(images)
        looked = {"poses": found.poses, "glimpses": found.glimpses} if isinstance(found, Episode | Looked) else {}
        for name, answer in found.answers.items():
            looked |= _tensors(name, answer)
        return looked


def _tensors(head: str, answer: Any) -> dict[str, Tensor]:
    """What a head answers; the tensors of one that is not known here are called HEAD_FIELD."""
    if isinstance(answer, Belief):
        return {"logits": answer.logits}
    if isinstance(answer, Depiction):
        masks = answer.painting.masks
        return {"canvases": answer.painting.canvases} | ({} if masks is None else {"masks": masks})
    own = {field.name for field in fields(answer)} - {field.name for field in fields(Answer)}
    values = {f"{head}_{name}": getattr(answer, name) for name in sorted(own)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def write_portable(trained: Trained, to: Kind, path: Path) -> float:
    """Write the model to `path`, and return by how much its outputs differ there from the model's own.

    They are compared on random pictures, in batches of another size than the file was made with.
    """
    if to == "onnx":
        needs_onnx()
    module = Portable(trained.model).cpu().eval()
    shape = trained.experiment.model.image.shape
    images = torch.rand(EXAMPLES, *shape, generator=torch.Generator().manual_seed(0))
    told = metadata(trained)
    with whole_file(path) as partial, torch.no_grad(), quiet():
        write, run = (write_onnx, _run_onnx) if to == "onnx" else (_write_torch, _run_torch)
        write(module, images, told, partial)
        difference = 0.0
        for count in (1, EXAMPLES - 1):
            wanted, got = module(images[:count]), run(partial, images[:count])
            difference = max(difference, *(float((got[name] - wanted[name]).abs().max()) for name in wanted))
        if not difference <= TOLERANCE:
            raise CheckpointError(
                f"the file differs from the model by {difference:.2g}, which is more than {TOLERANCE:g}; "
                "it is not kept: try --to torch, or another version of torch"
            )
    return difference


def metadata(trained: Trained) -> dict[str, str]:
    """What a program must know to use the file."""
    experiment, model = trained.experiment, trained.experiment.model
    glimpses = {"count": model.glimpses, "height": model.glimpse_height, "width": model.glimpse_width}
    return {
        "stawm": __version__,
        "experiment": experiment.name,
        "about": experiment.about,
        "classes": json.dumps(trained.classes),
        "image": json.dumps(vars(model.image)),
        "glimpses": json.dumps(glimpses if isinstance(trained.model, Stawm) else None),
        "preparation": learnt_from(experiment.data.name).preparation,
        "terms": learnt_from(experiment.data.name).terms,
    }


def needs_onnx() -> None:
    """Refuse what needs onnxruntime where that is not installed."""
    try:
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as failure:
        raise UsageError("ONNX needs onnxscript and onnxruntime: pip install 'stawm[export]'") from failure


def write_onnx(module: nn.Module, images: Tensor, told: dict[str, str], path: Path) -> None:
    """Write a module from `images` to named tensors to `path`, for any batch."""
    program = torch.onnx.export(
        module,
        (images,),
        dynamo=True,
        opset_version=OPSET,
        verbose=False,
        input_names=["images"],
        output_names=list(module(images)),
        dynamic_shapes={"images": {0: "batch"}},
    )
    assert program is not None
    program.model.metadata_props.update(told)
    program.save(path)


def _run_onnx(path: Path, images: Tensor) -> dict[str, Tensor]:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = session.run(names, {"images": images.numpy()})
    return {name: torch.from_numpy(value) for name, value in zip(names, found, strict=True)}


def _write_torch(module: Portable, images: Tensor, told: dict[str, str], path: Path) -> None:
    program = torch.export.export(
        module, (images,), dynamic_shapes={"images": {0: torch.export.Dim("batch", min=1)}}, strict=False
    )
    with path.open("wb") as file:
        torch.export.save(program, file, extra_files={METADATA: json.dumps(told)})


def _run_torch(path: Path, images: Tensor) -> dict[str, Tensor]:
    with path.open("rb") as file:
        return torch.export.load(file).module()(images)


@contextmanager
def quiet() -> Iterator[None]:
    """Run without the remarks of the exporters, which are for those who write them."""
    loud = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "torch.export")]
    before = [logger.level for logger in loud]
    for logger in loud:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loud, before, strict=True):
            logger.setLevel(level)
