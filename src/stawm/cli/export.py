"""`stawm export`.

The file runs where there is no stawm: --to onnx makes a file for onnxruntime (Python, C++, browsers, phones), --to
torch a program of torch.export, which needs only torch. Input: `images` [batch, channel, height, width] in [0, 1].
Outputs by name, as the model has them: `poses` and `glimpses` of every look, `logits` after each, `canvases` and
`masks` of a drawing. The names of the classes, and what is done to a picture beforehand, are in its metadata.

Before the file is kept it is run, and compared with the model.

Examples:
  stawm export mnist-sketchpad --to onnx --out sketchpad.onnx
  stawm export runs/mnist-5k-classify-seed0 --to torch --out classify.pt2
"""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from stawm.cli.options import Model, flag
from stawm.errors import UsageError

ENDINGS = {"onnx": ".onnx", "torch": ".pt2"}


def export(
    model: Model,
    *,
    to: Annotated[Literal["onnx", "torch"], arg(help="for onnxruntime, or for torch alone")] = "onnx",
    out: Annotated[Path | None, flag("the file", "FILE", "(NAME.onnx or NAME.pt2)")] = None,
) -> None:
    """Write a trained model to one file that runs without stawm."""
    from stawm.store.portable import write_portable
    from stawm.store.weights import load_trained

    for kind, ending in ENDINGS.items():
        if out is not None and out.suffix == ending and kind != to:
            raise UsageError(f"{out} is a name for --to {kind}; give that, or a name that ends in {ENDINGS[to]}")
    trained = load_trained(model)
    path = out or Path(f"{Path(model).resolve().name or trained.experiment.name}{ENDINGS[to]}")
    print(f"writing {path} (this takes a minute)", flush=True)
    difference = write_portable(trained, to, path)
    print(
        f"{path} ({path.stat().st_size / 1e6:.1f} MB); its outputs differ from the model's by at most {difference:.1g}"
    )
