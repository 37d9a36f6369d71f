"""Published sets in miniature, with true md5 sums, and the ways in which they come: files, archives, packages."""

import contextlib
import functools
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from stawm.data.data_set import DATA_SETS
from stawm.data.fetch import FetchedSet
from stawm.data.image_set import ImageSet, image_set
from stawm.data.published import Download
from stawm.data.sets.cifar10 import CIFAR10
from stawm.data.sets.mnist import FASHION_MNIST, MNIST


@dataclass(frozen=True)
class Tiny:
    record: FetchedSet
    files: Mapping[str, bytes]

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of the set of its name for as long as a test runs."""
        assert self.record.name in DATA_SETS
        monkeypatch.setitem(DATA_SETS._things, self.record.name, self.record)


def tiny(like: FetchedSet, files: Mapping[str, bytes], site: str, downloads: tuple[Download, ...]) -> Tiny:
    sums = {name: md5(content) for name, content in files.items()}
    return Tiny(replace(like, files=sums, downloads=downloads, sites=(site,)), files)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def idx(array: np.ndarray) -> bytes:
    lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes()


def tiny_idx(like: FetchedSet, seed: int, site: str = "http://127.0.0.1:9/") -> Tiny:
    draw = np.random.default_rng(seed)
    files = {}
    for split, count in (("train", 20), ("t10k", 10)):
        files[f"{split}-images-idx3-ubyte"] = idx(draw.integers(0, 256, (count, 28, 28), np.uint8))
        files[f"{split}-labels-idx1-ubyte"] = idx(np.arange(count, dtype=np.uint8) % 10)
    downloads = tuple(Download(f"{name}.gz", md5(packed(files[name]))) for name in files)
    return tiny(like, files, site, downloads)


def tiny_mnist(site: str = "http://127.0.0.1:9/") -> Tiny:
    return tiny_idx(MNIST, 1, site)


def tiny_fashion(site: str = "http://127.0.0.1:9/") -> Tiny:
    return tiny_idx(FASHION_MNIST, 2, site)


def tiny_cifar(site: str = "http://127.0.0.1:9/") -> Tiny:
    draw = np.random.default_rng(3)
    files = {}
    for name in CIFAR10.files:
        labels = np.arange(4, dtype=np.uint8)[:, None]
        files[name] = np.concatenate([labels, draw.integers(0, 256, (4, 3072), np.uint8)], axis=1).tobytes()
    return tiny(CIFAR10, files, site, CIFAR10.downloads)


def marked(classes: Mapping[int, tuple[int, ...]], count: int = 10) -> ImageSet:
    """So many digits of each level, which all of their pixels have, and of the classes of that level, in turn."""
    levels = torch.tensor([*classes], dtype=torch.uint8).repeat_interleave(count).view(-1, 1, 1, 1)
    labels = [own[number % len(own)] for own in classes.values() for number in range(count)]
    return image_set("marked", levels.repeat(1, 1, 28, 28), torch.tensor(labels), tuple("0123456789"))


def packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def tarball(files: Mapping[str, bytes], inside: str) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{inside}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


def cifar_sheets(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the npm package: a PNG with a row of 1,024 RGB pixels for each picture, and lists of labels."""
    sheets: dict[str, bytes] = {}
    labels: dict[str, list[int]] = {"train_lables.json": [], "test_lables.json": []}
    for name, content in files.items():
        records = np.frombuffer(content, np.uint8).reshape(-1, 3073)
        whole = io.BytesIO()
        Image.fromarray(records[:, 1:].reshape(-1, 3, 1024).transpose(0, 2, 1).copy()).save(whole, "PNG")
        sheets[name.replace(".bin", ".png")] = whole.getvalue()
        labels["test_lables.json" if name.startswith("test") else "train_lables.json"] += records[:, 0].tolist()
    return sheets | {name: json.dumps(list_).encode() for name, list_ in labels.items()}


def client(folder: Path, name: str, script: str) -> None:
    """A stand-in for a package client, put first on the PATH by whoever wants it found."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    (folder / name).chmod(0o755)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a web site that serves a folder on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
