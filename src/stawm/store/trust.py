"""Trust in a model's answers as a file beside its weights; it names the weights that it belongs to."""

from pathlib import Path

from stawm.errors import CheckpointError
from stawm.files import write_bytes
from stawm.store.checkpoint import digest_of, read_tensors, tensor_bytes
from stawm.trust.familiar import judgement_of, tensors_of
from stawm.trust.style import style_of
from stawm.trust.trust import Trust

FILE = "trust.safetensors"
FORMAT = "1"
CURE = "run stawm calibrate again, or delete the file"
CONTENT, STYLE = "judgement.", "style."


def write_trust(trust: Trust | None, folder: Path, weights: str) -> None:
    """Write the trust in the model of `folder`, whose file of weights has this SHA-256; without one, remove the old."""
    if trust is None:
        (folder / FILE).unlink(missing_ok=True)
        return
    tensors = {CONTENT + name: part for name, part in tensors_of(trust.judgement).items()}
    if trust.style is not None:
        tensors |= {STYLE + name: part.contiguous() for name, part in vars(trust.style).items()}
    if trust.temperatures is not None:
        tensors["temperatures"] = trust.temperatures
    header = {"format": FORMAT, "weights": weights, "sha256": digest_of(tensors)}
    write_bytes(folder / FILE, tensor_bytes(tensors, header))


def read_trust(folder: Path, weights: str) -> Trust | None:
    """The trust in the model of `folder`, whose file of weights has this SHA-256; none if it was never calibrated."""
    path = folder / FILE
    if not path.exists():
        return None
    tensors, header = read_tensors(path, CURE)
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {header.get('format')}, this stawm reads {FORMAT}; {CURE}")
    if header.get("weights") != weights:
        raise CheckpointError(f"{path} belongs to other weights than those beside it; {CURE}")
    try:
        if header.get("sha256") != digest_of(tensors):
            raise ValueError("its checksum differs")
        content, style = (
            {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}
            for part in (CONTENT, STYLE)
        )
        return Trust(judgement_of(content), tensors.get("temperatures"), style_of(style) if style else None)
    except (TypeError, ValueError) as failure:
        raise CheckpointError(f"{path} is damaged ({failure}); {CURE}") from failure
