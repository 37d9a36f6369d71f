"""Fashion-MNIST."""

from stawm.data.data_set import DATA_SETS
from stawm.data.fetched import FetchedSet
from stawm.data.idx import gzipped, idx_arrays, idx_files
from stawm.data.published import Package, Published

NAME = "fashion-mnist"

FILES = Published(
    name=NAME,
    files=idx_files(
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
    downloads=gzipped(
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    sites=(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    package=Package("apt-get", "dataset-fashion-mnist"),
    folders=("FashionMNIST/raw",),
)

FASHION_MNIST = FetchedSet(
    name=NAME,
    about="Zalando's articles of clothing, grey",
    source=FILES.source,
    classes=("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
    shape=(1, 28, 28),
    train=60_000,
    test=10_000,
    terms="Fashion-MNIST is copyright Zalando SE, made available under the MIT licence.",
    published=FILES,
    parse=idx_arrays,
)
DATA_SETS.add(NAME, FASHION_MNIST)
