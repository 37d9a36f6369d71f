import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from stawm.cli import main
from stawm.cli.masks import LOW
from stawm.data.sets.celeba import face_or_whole
from stawm.errors import DataError, UsageError
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig
from stawm.model.heads.draw import Drawn
from stawm.model.stawm import Stawm
from stawm.show.picture import cutout, placed
from stawm.store.weights import export
from stawm.vision.masks import layered, quality
from tiny_drawing import drawing_config, drawing_model


@pytest.fixture(scope="module")
def masker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of an untrained model with masks that takes colour pictures of 16 × 10 (width × height)."""
    config = drawing_config("bernoulli", ImageConfig(3, 10, 16), classes=0)
    experiment = Experiment(name="tiny", model=config, data=DataConfig(name="folder:somewhere"))
    return export(drawing_model(config), experiment, tmp_path_factory.mktemp("weights"))


def picture(path: Path, size: tuple[int, int], colour: Any = (200, 100, 50)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def seen(path: Path) -> np.ndarray:
    with Image.open(path) as opened:
        return np.asarray(opened)


def mask_of(model: Path, images: Tensor, glimpse: int) -> np.ndarray:
    from stawm import load

    trained = load(model)
    assert isinstance(trained, Stawm)
    with torch.no_grad():
        drawn = trained(images).answer("draw", Drawn)
    assert drawn.painting.masks is not None
    return drawn.painting.masks[0, glimpse, 0].numpy()


def test_a_mask_returns_to_the_middle_that_was_cropped():
    # A high picture, 4 wide and 10 high, seen through a square: rows 3 to 6.
    mask = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat_interleave(2, 0).repeat_interleave(2, 1)
    back = np.asarray(placed(mask, (4, 10)))
    assert back.shape == (10, 4)
    assert back[3:7].tolist() == (255 * mask).int().tolist()
    assert not back[:3].any()
    assert not back[7:].any()


def test_a_mask_is_enlarged_to_the_picture_and_may_be_all_or_nothing():
    mask = torch.tensor([[0.0, 1.0]])
    soft = np.asarray(placed(mask, (8, 4)))[0]
    assert soft.tolist() == [0, 0, 32, 96, 159, 223, 255, 255], "a ramp between the two pixels' centres"
    assert np.asarray(placed(mask, (8, 4), threshold=0.5))[0].tolist() == [0] * 4 + [255] * 4
    assert np.asarray(placed(mask, (8, 4), threshold=0.3))[0].tolist() == [0] * 3 + [255] * 5


def test_the_frame_of_aligned_faces_is_for_pictures_in_their_proportions():
    back = np.asarray(placed(torch.ones(64, 64), (178, 218), face_or_whole))
    rows, columns = back.nonzero()
    assert (columns.min(), columns.max() + 1) == (15, 163)
    assert (rows.min(), rows.max() + 1) == (35, 183)
    assert np.asarray(placed(torch.ones(64, 64), (100, 100), face_or_whole)).all()


def test_a_cutout_is_the_picture_with_the_mask_as_alpha():
    mask = placed(torch.tensor([[0.0, 1.0]]), (2, 1))
    assert np.asarray(cutout(Image.new("L", (2, 1), 77), mask)).tolist() == [[[77, 77, 77, 0], [77, 77, 77, 255]]]


@pytest.mark.parametrize(("glimpse", "place"), [(["--glimpse", "last"], -1), (["--glimpse", "2"], 1)])
def test_masks_of_a_picture_at_its_own_size(
    masker: Path, tmp_path: Path, glimpse: list[str], place: int, capsys: pytest.CaptureFixture[str]
):
    # Twice the model's height: what it sees is the middle 32 × 20 of 50 × 20, all one colour, halved.
    path = picture(tmp_path / "in" / "wide.png", (50, 20))
    out = tmp_path / "out"
    assert main(["masks", str(masker), str(path), "--out", str(out), *glimpse]) == 0
    told, low = capsys.readouterr().out.splitlines()
    assert told.startswith("1 ")
    assert str(out) in told
    assert told.endswith("quality 0.00"), "a picture of one colour has no foreground"
    assert "wide.png (0.00)" in low
    colour = (torch.tensor([200, 100, 50]) / 255)[None, :, None, None].expand(1, 3, 10, 16)
    wanted = mask_of(masker, colour, place)
    mask, cut = seen(out / "wide-mask.png"), seen(out / "wide-cutout.png")
    assert (mask.shape, cut.shape) == ((20, 50), (20, 50, 4))
    assert not mask[:, :9].any()
    assert not mask[:, 41:].any()
    assert np.abs(mask[:, 9:41].reshape(10, 2, 16, 2).mean((1, 3)) / 255 - wanted)[1:-1, 1:-1].max() < 0.1
    assert (cut[..., 3] == mask).all()
    assert (cut[..., :3] == (200, 100, 50)).all()


def test_files_are_listed_only_when_asked_for(masker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("a.png", "b.png"):
        picture(tmp_path / "in" / name, (16, 10))
    command, out = ["masks", str(masker), str(tmp_path / "in"), "--out", str(tmp_path / "out")], tmp_path / "out"
    files = [str(out / name) for name in ("a-mask.png", "a-cutout.png", "b-mask.png", "b-cutout.png")]
    assert main([*command, "-v"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(" (quality ")[0] for line in told[:4]] == files
    assert len(told) == 6
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["out"], told["files"]) == (str(out), files)
    assert told["seconds"] > 0


def test_the_quality_of_a_mask_is_told_and_chooses_the_best(
    masker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "noise.png"
    pixels = np.random.default_rng(0).integers(0, 256, (10, 16, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    images = torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255
    single = [mask_of(masker, images, place) for place in range(3)]
    masks = [*single, *layered(torch.from_numpy(np.stack(single))[None])[0].numpy()]
    for threshold in (0.5, float(np.median(masks))):
        wanted = [float(quality(images, torch.from_numpy(mask >= threshold)[None])) for mask in masks]
        told = []
        for glimpse in ("1", "2", "3", "1+", "2+", "3+", "last", "best"):
            command = ["masks", str(masker), str(path), "--out", str(tmp_path / glimpse), "--glimpse", glimpse]
            assert main([*command, "--threshold", str(threshold), "--json"]) == 0
            [found] = json.loads(capsys.readouterr().out)["pictures"]
            assert found["picture"] == str(path)
            assert found["low"] == (found["quality"] < LOW)
            told.append(found["quality"])
        assert told == pytest.approx([*wanted, wanted[2], max(wanted)], abs=1e-4)
        chosen = seen(tmp_path / "best" / "noise-mask.png") > 0
        assert any((chosen == (mask >= threshold)).all() for mask in masks)


def test_what_is_written_may_be_smaller_and_is_never_enlarged(masker: Path, tmp_path: Path):
    sizes = {"large.png": (1600, 1000), "little.png": (32, 20)}
    given = [str(picture(tmp_path / "in" / name, pixels)) for name, pixels in sizes.items()]
    for size, side in (("small", 256), ("medium", 512), ("large", 1024), ("own", 1600)):
        out = tmp_path / size
        command = ["masks", str(masker), *given, "--size", size, "--threshold", "0.5"]
        assert main([*command, "--out", str(out)]) == 0
        assert seen(out / "large-cutout.png").shape == (round(side * 1000 / 1600), side, 4)
        assert seen(out / "little-mask.png").shape == (20, 32)
        assert set(np.unique(seen(out / "large-mask.png"))) <= {0, 255}, "all or nothing stays so"
        assert (seen(out / "large-cutout.png")[..., 3] == seen(out / "large-mask.png")).all()


def test_folders_and_namesakes_do_not_overwrite_each_other(masker: Path, tmp_path: Path):
    for name in ("a/x.png", "b/x.jpg", "b/deep/X.png", "x-2.png"):
        picture(tmp_path / "in" / name, (16, 10))
    arguments = [str(tmp_path / "in"), str(tmp_path / "in" / "a" / "x.png"), "--threshold", "0.5"]
    assert main(["masks", str(masker), *arguments, "--out", str(tmp_path / "out")]) == 0
    made = sorted(path.name.lower() for path in (tmp_path / "out").iterdir())
    assert len(made) == len(set(made)) == 8
    assert {"x-mask.png", "x-2-mask.png", "x-3-mask.png", "x-2-2-mask.png"} <= set(made)
    assert set(np.unique(seen(tmp_path / "out" / "x-mask.png"))) <= {0, 255}


def test_pictures_are_never_overwritten(masker: Path, tmp_path: Path):
    first, second = picture(tmp_path / "x.png", (16, 10)), picture(tmp_path / "x-mask.png", (16, 10), (1, 2, 3))
    assert main(["masks", str(masker), str(first), str(second), "--out", str(tmp_path)]) == 0
    assert (seen(second) == (1, 2, 3)).all()
    assert (tmp_path / "x-2-cutout.png").is_file()


def test_what_was_written_before_is_not_masked_again(masker: Path, tmp_path: Path):
    picture(tmp_path / "x.png", (16, 10))
    for _ in range(2):
        assert main(["masks", str(masker), str(tmp_path), "--out", str(tmp_path / "masks")]) == 0
    assert sorted(path.name for path in (tmp_path / "masks").iterdir()) == ["x-cutout.png", "x-mask.png"]


def test_nor_is_it_where_it_lies_among_the_pictures(masker: Path, tmp_path: Path):
    picture(tmp_path / "x.png", (16, 10))
    picture(tmp_path / "my-mask.png", (16, 10))
    for _ in range(2):
        assert main(["masks", str(masker), str(tmp_path), "--out", str(tmp_path)]) == 0
    made = {f"{name}{ending}" for name in ("x", "my-mask") for ending in ("-mask.png", "-cutout.png")}
    assert {path.name for path in tmp_path.iterdir()} == {"x.png", "my-mask.png", *made}


def test_what_is_transparent_already_stays_so(masker: Path, tmp_path: Path):
    given = Image.new("RGBA", (16, 10), (200, 100, 50, 255))
    given.paste((0, 0, 0, 0), (0, 0, 8, 10))
    given.save(tmp_path / "x.png")
    assert main(["masks", str(masker), str(tmp_path / "x.png"), "--glimpse", "1", "--out", str(tmp_path)]) == 0
    cut, mask = seen(tmp_path / "x-cutout.png"), seen(tmp_path / "x-mask.png")
    assert not mask[:, :8].any() and mask[:, 8:].any()
    assert (cut[..., 3] == mask).all()


def test_other_files_in_a_folder_are_passed_over(masker: Path, tmp_path: Path):
    picture(tmp_path / "in" / "x.png", (16, 10))
    (tmp_path / "in" / "notes.txt").write_text("no picture")
    assert main(["masks", str(masker), str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_broken_files_are_named_in_one_line_and_the_others_done(
    masker: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    picture(tmp_path / "in" / "good.png", (16, 10))
    for name in ("bad.png", "worse.jpg"):
        (tmp_path / "in" / name).write_text("no picture")
    out = tmp_path / "out"
    assert main(["masks", str(masker), str(tmp_path / "in"), "--out", str(out)]) == DataError.exit_code
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "bad.png (not a picture)" in told
    assert "worse.jpg (not a picture)" in told
    assert "good" not in told
    assert (out / "good-cutout.png").is_file()


@pytest.mark.parametrize(
    ("code", "named", "arguments"),
    [
        (UsageError, "last", ["--glimpse", "first"]),
        (UsageError, "from 1 to 3", ["--glimpse", "4"]),
        (UsageError, "from 1 to 3", ["--glimpse", "0"]),
        (UsageError, "--glimpse", ["--glimpse", "1" * 5000]),
        (DataError, "neither a picture nor a folder", ["/dev/null"]),
        (UsageError, "an argument is empty", [""]),
        (UsageError, "--threshold", ["--threshold", "1.5"]),
        (DataError, "nowhere.png", ["nowhere.png"]),
    ],
)
def test_mistakes_are_one_line(
    masker: Path, tmp_path: Path, code: Any, named: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    path = picture(tmp_path / "x.png", (16, 10))
    assert main(["masks", str(masker), str(path), *arguments, "--out", str(tmp_path / "out")]) == code.exit_code
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert named in told
    assert not (tmp_path / "out").exists()


def test_a_model_without_masks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = drawing_config()
    weights = export(drawing_model(config), Experiment(name="sums", model=config), tmp_path / "weights")
    path = picture(tmp_path / "x.png", (16, 10))
    assert main(["masks", str(weights), str(path)]) == UsageError.exit_code
    assert "(sums) has no masks" in capsys.readouterr().err
