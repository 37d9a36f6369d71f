"""What is kept of a look as a text: the server holds nothing between looking and asking, its client does.

A token is base64 of a mark, which says whose memory it is, and of numbers whose count is known: anything else is
refused, and so are numbers that no look of the model could have kept.
"""

import binascii
import hashlib
import math

import numpy as np
import torch

from stawm.look.asked import Kept
from stawm.look.rememberer import Rememberer
from stawm.serve.refusal import Refusal
from stawm.store.weights import fingerprint

MARK = 16
"""Bytes of the mark."""
MOST = 6.0
"""Codes and queries are ReLU6 of something."""
REACH = 1e6
"""The most that a number of a pose may be: sketches that are pasted further away are not seen anyway."""
NUMBER = np.dtype("<f4")


class Tokens:
    """The tokens of one model."""

    def __init__(self, rememberer: Rememberer) -> None:
        model = rememberer.model
        self.glimpses, self.memory = model.glimpses, model.memory.size
        self.draws = rememberer.artist is not None
        known = f"{rememberer.name}\0{fingerprint(model)}".encode()
        self.mark = hashlib.sha256(known).digest()[:MARK]
        self.sizes = (self.glimpses * self.memory, self.memory * self.draws, 6 * self.glimpses * self.draws)
        self.bytes = MARK + NUMBER.itemsize * sum(self.sizes)
        self.length = 4 * math.ceil(self.bytes / 3)
        """Letters of a token."""

    def of(self, kept: Kept) -> str:
        """The token of a memory."""
        poses = None if kept.inverses is None else kept.inverses.clamp(-REACH, REACH)
        parts = [part.flatten() for part in (kept.codes, kept.query, poses) if part is not None]
        numbers = torch.cat(parts).float().numpy().astype(NUMBER)
        return binascii.b2a_base64(self.mark + numbers.tobytes(), newline=False).decode()

    def read(self, token: str) -> Kept:
        """The memory of a token; a `Refusal` of all that is none of this model's."""
        if len(token) != self.length:
            raise _refused(f"it has {len(token):,} letters, those of this model {self.length:,}")
        try:
            content = binascii.a2b_base64(token.encode("ascii"), strict_mode=True)
        except ValueError:
            raise _refused("it is not base64") from None
        if len(content) != self.bytes or content[:MARK] != self.mark:
            raise _refused("it is of another model")
        numbers = torch.from_numpy(np.frombuffer(content[MARK:], NUMBER).astype(np.float32))
        codes, query, poses = numbers.split(self.sizes)
        written = torch.cat([codes, query])
        if not bool(numbers.isfinite().all()) or bool(((written < 0) | (written > MOST)).any()):
            raise _refused(f"it holds numbers that are not written: those lie between 0 and {MOST:g}")
        if poses.numel() and float(poses.abs().max()) > REACH:
            raise _refused("it holds a place that is far outside")
        own = codes.unflatten(0, (self.glimpses, self.memory))
        return Kept(own, query, poses.unflatten(0, (self.glimpses, 2, 3))) if self.draws else Kept(own)


def _refused(why: str) -> Refusal:
    return Refusal(422, f"“memory” is not what /api/remember gave: {why}; look again")
