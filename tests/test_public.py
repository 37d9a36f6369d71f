from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import stawm
from fresh_process import anew, start
from stawm.data import load_data
from stawm.errors import CheckpointError, DataError, UsageError
from stawm.look.answer import Look
from stawm.store.weights import load_trained
from tiny_model import small

MODEL = "mnist-5k-sketchpad"


@pytest.fixture(scope="module")
def digit() -> np.ndarray:
    return load_data("mnist-5k").test.images[0, 0].numpy()


def test_every_kind_of_picture_is_looked_at_alike(digit: np.ndarray, tmp_path: Path):
    path = tmp_path / "six.png"
    Image.fromarray(digit).save(path)
    kinds = [
        digit,
        np.stack([digit] * 3, -1),
        torch.from_numpy(digit),
        torch.from_numpy(digit)[None],
        torch.from_numpy(digit).float() / 255,
        torch.from_numpy(digit).expand(3, -1, -1),
        Image.fromarray(digit),
        path,
        str(path),
        path.read_bytes(),
    ]
    looks = stawm.look(kinds, model=MODEL)
    assert {look.prediction for look in looks} == {"6"}
    assert len({look.image.png.array.tobytes() for look in looks}) == 1
    assert [look.name for look in looks[6:]] == ["picture 7", "six.png", "six.png", "picture 10"]


def test_a_picture_of_pillow_is_turned_as_its_file_would_be(digit: np.ndarray, tmp_path: Path):
    lying, exif = Image.fromarray(np.rot90(digit)), Image.Exif()
    exif[0x0112] = 6
    lying.save(tmp_path / "six.png", exif=exif)
    with Image.open(tmp_path / "six.png") as opened:
        looks = stawm.look([digit, tmp_path / "six.png", opened], model=MODEL)
    assert len({look.image.png.array.tobytes() for look in looks}) == 1


def test_what_was_found_is_told(digit: np.ndarray):
    sheets = [np.full((50, 60), 200, np.uint8), digit, np.concatenate([digit] * 3, 1)]
    looks = stawm.look(sheets, model=MODEL)
    assert [look.found for look in looks] == [0, 1, 3]
    assert [look.prediction is None for look in looks] == [True, False, False]
    assert looks[0].believed() == []


def test_one_picture_is_one_look_and_a_list_is_a_list(digit: np.ndarray):
    one = stawm.look(digit, model=MODEL, memory=True)
    assert isinstance(one, Look)
    assert (one.model, one.prediction, len(one.glimpses)) == (MODEL, "6", 6)
    assert one.memory is not None
    assert one.glimpses[-1].canvas is not None
    assert one.glimpses[-1].canvas.array.shape == (28, 28)
    assert stawm.look([], model=MODEL) == []
    [other] = stawm.look((digit,), model=MODEL)
    assert (other.memory, other.confidence) == (None, pytest.approx(one.confidence))


def test_a_model_is_named_loaded_or_in_a_folder(digit: np.ndarray):
    folder = Path(stawm.__file__).parent / "weights" / MODEL
    models = (None, MODEL, folder, str(folder), stawm.load(MODEL), load_trained(MODEL))
    looks = [stawm.look(digit, model) for model in models]
    assert {look.prediction for look in looks} == {"6"}
    assert len({round(look.confidence or 0, 6) for look in looks[1:]}) == 1


@pytest.mark.parametrize(
    ("picture", "word"),
    [
        (np.zeros((4, 4)), "float64"),
        (np.zeros((4, 4, 2), np.uint8), "[4, 4, 2]"),
        (torch.zeros(1, 1, 4, 4), "tensor with shape [1, 1, 4, 4]"),
        (torch.zeros(4, 4, 3), "[4, 4, 3]"),
        (Image.new("LAB", (4, 4)), "LAB"),
        (torch.full((4, 4), 255.0), "divide by 255"),
        (torch.full((4, 4), torch.nan), "not finite"),
        (torch.zeros(0, 4), "[0, 4]"),
        (Image.new("F", (4, 4)), "floating-point"),
        (b"nothing", "picture 1"),
        ("no/such.png", "no/such.png"),
    ],
)
def test_what_is_no_picture_is_told(picture: object, word: str):
    with pytest.raises(DataError) as failure:
        stawm.look(picture, model=MODEL)  # type: ignore[arg-type]
    assert word in str(failure.value)


def test_a_model_that_is_not_known_is_told(digit: np.ndarray):
    with pytest.raises(CheckpointError, match="no-such-model"):
        stawm.look(digit, model="no-such-model")
    with pytest.raises(UsageError, match="Trained"):
        stawm.look(digit, model=small())


ORDERS = [
    "import stawm; call = stawm.look; import stawm.look.looker as more; assert call.looker is more",
    "from stawm.look.looker import Looker; from stawm import look as call",
    "from stawm import *; call = look",
]


@pytest.mark.parametrize("order", ORDERS)
def test_the_room_is_a_call_whatever_was_imported_before(order: str, tmp_path: Path):
    check = (
        f"import warnings; warnings.simplefilter('error'); {order}; assert callable(call); "
        "import stawm, stawm.look.stream; assert stawm.look is call; "
        "from stawm.look.stream import look_at; assert call.stream.look_at is look_at"
    )
    started = start(anew, check, home=tmp_path)
    assert started.end() == 0, started.err.read_text()
