"""The large weights of a graph as eight-bit numbers, each 32 inputs of an output with a scale of their own.

w ≈ s (q − 128) with q in 0…255 and s = max |w| / 127 over the 32; activations are rounded likewise as they come, the
sums are whole numbers. It is the operator MatMulNBits of onnxruntime. Convolutions and small layers stay as they are.
"""

from pathlib import Path
from typing import Any

import numpy as np

BLOCK, ZERO, MOST = 32, 128, 127
LARGE = 2**16
"""Weights from which on a layer is worth it."""
INT8_SUMS = 4
"""The accuracy level of MatMulNBits whose sums are of whole numbers; all others make each weight a float again."""


def to_eight_bits(path: Path) -> None:
    """Replace the large layers of the graph at `path`."""
    import onnx_ir

    model = onnx_ir.load(path)
    model.opset_imports["com.microsoft"] = 1
    packed: dict[str, tuple[Any, Any]] = {}
    for node in [node for node in model.graph if node.op_type == "Gemm"]:
        _replace(model.graph, node, packed, onnx_ir)
    for name in [name for name, value in model.graph.initializers.items() if not value.uses()]:
        del model.graph.initializers[name]
    onnx_ir.save(model, path)


def _replace(graph: Any, node: Any, packed: dict[str, tuple[Any, Any]], ir: Any) -> None:
    given, weight, *rest = node.inputs
    attributes = {name: node.attributes[name].value for name in node.attributes}
    plain = attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1.0 and not attributes.get("transA")
    if weight.const_value is None or weight.const_value.size < LARGE or not plain:
        return
    values = weight.const_value.numpy() if attributes.get("transB") else weight.const_value.numpy().T
    outputs, inputs = values.shape
    if inputs % BLOCK:
        return
    name = f"{weight.name}{'' if attributes.get('transB') else '.transposed'}"
    if name not in packed:
        packed[name] = tuple(
            _constant(graph, f"{name}.{part}", array, ir)
            for part, array in zip(("levels", "scales"), in_blocks(values), strict=True)
        )
    how = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK, "accuracy_level": INT8_SUMS}
    product = ir.node("MatMulNBits", [given, *packed[name]], how, domain="com.microsoft", num_outputs=1)
    made = [product] if not rest else [product, ir.node("Add", [product.outputs[0], rest[0]], num_outputs=1)]
    ir.convenience.replace_nodes_and_values(graph, node, [node], made, node.outputs, made[-1].outputs)


def in_blocks(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The levels [output block 32] and scales [output block] of weights [output input]."""
    blocks = weights.astype(np.float32).reshape(len(weights), -1, BLOCK)
    scales = np.abs(blocks).max(-1) / MOST
    shares = blocks / np.where(scales > 0, scales, 1)[..., None]
    return (np.round(shares) + ZERO).astype(np.uint8), scales.astype(np.float32)


def _constant(graph: Any, name: str, array: np.ndarray, ir: Any) -> Any:
    tensor = ir.tensor(array, name=name)
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)
    graph.register_initializer(value)
    return value
