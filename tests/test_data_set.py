"""A data set as one record: one that is added from outside is loaded, listed, got and learnt from like any other."""

import json
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
import torch
from PIL import Image

from stawm import registry
from stawm.cli import main
from stawm.data import DATA_SETS, DataSet, Facts, Splits, find_data, get_data, learnt_from, list_data, load_data
from stawm.data.image_set import image_set
from stawm.data.pictures import Frame, Shape
from stawm.data.prepare.given import Given
from stawm.data.prepare.prepared import Prepared
from stawm.errors import DataError, UsageError
from stawm.look.looker import Looker
from stawm.store.weights import load_trained
from stawm.training.fit import fit
from tiny_run import TINY, with_data, with_training

LETTERS = tuple("abcdefghij")


def noise(data_dir: Path | None, image: Shape | None) -> Splits:
    """Thirty-two random pictures to learn from and ten held out."""
    draws = torch.Generator().manual_seed(0)
    pictures = torch.randint(0, 256, (42, 1, 28, 28), dtype=torch.uint8, generator=draws)
    labels = torch.arange(42) % 10
    return Splits(
        image_set("noise", pictures[:32], labels[:32], LETTERS), image_set("noise", pictures[32:], labels[32:], LETTERS)
    )


NOISE = DataSet(name="noise", about="random pictures", classes=LETTERS, loader=noise)


@pytest.fixture(autouse=True)
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds is gone after it; no cache and no data folder of the machine."""
    monkeypatch.setattr(DATA_SETS, "_things", {name: DATA_SETS[name] for name in DATA_SETS})
    monkeypatch.setenv("STAWM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STAWM_DATA", raising=False)


@pytest.fixture
def added() -> DataSet:
    return DATA_SETS.add("noise", NOISE)


def test_a_set_from_outside_is_loaded_listed_and_got(added: DataSet, capsys: pytest.CaptureFixture[str]):
    assert torch.equal(load_data("noise").train.images, noise(None, None).train.images)
    assert load_data("noise", image=(1, 28, 28)).test.classes == LETTERS
    listed = {record.name: record for record in list_data()}["noise"]
    assert (listed.about, listed.classes, listed.here) == ("random pictures", 10, True)
    assert get_data("noise") == Path(__file__)
    assert main(["data", "get", "noise"]) == 0
    assert capsys.readouterr().out == f"{__file__}\n"
    assert main(["data", "list", "--json"]) == 0
    assert "noise" in {record["name"] for record in json.loads(capsys.readouterr().out)}


def test_a_set_that_is_defined_again_takes_the_place_of_the_first(added: DataSet):
    again = replace(NOISE, loader=lambda data_dir, image: noise(data_dir, image))
    assert DATA_SETS.add("noise", again) is again
    with pytest.raises(UsageError, match="mnist"):
        DATA_SETS.add("mnist", replace(NOISE, name="mnist"))


def test_another_package_adds_one_by_entry_point(monkeypatch: pytest.MonkeyPatch):
    point = EntryPoint(name="noise", value=f"{__name__}:NOISE", group="stawm.data")
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    monkeypatch.setattr(DATA_SETS, "_complete", False)
    assert len(load_data("noise").train) == 32
    assert "noise" in {record.name for record in list_data()}


def test_a_script_learns_from_it_and_looks_with_what_it_learnt(added: DataSet, tmp_path: Path):
    def upside_down(given: Given, shape: Shape, frame: Frame) -> Prepared:
        return Prepared(torch.zeros(shape, dtype=torch.uint8), notes=("upside down",))

    DATA_SETS.add("noise", replace(NOISE, preparer=upside_down))
    experiment = with_training(with_data(TINY, name="noise"), epochs=1)
    assert len(list(fit(experiment, tmp_path / "run"))) == 1
    trained = load_trained(tmp_path / "run")
    assert trained.classes == LETTERS
    looker = Looker(trained, "mine")
    assert looker.prepare(Given("x", Image.new("L", (9, 9)))).notes == ("upside down",)


def test_pictures_of_the_wrong_kind_are_refused(added: DataSet):
    with pytest.raises(DataError, match=r"1×28×28.*3×8×8"):
        load_data("noise", image=(3, 8, 8))
    whole = noise(None, None)
    # Past the shape checks of this suite, which an ordinary run does not have.
    object.__setattr__(whole.train, "images", whole.train.images.float())
    DATA_SETS.add("noise", replace(NOISE, loader=lambda data_dir, image: whole))
    with pytest.raises(DataError, match="uint8"):
        load_data("noise")
    with pytest.raises(UsageError, match=r"noise .*loader"):
        replace(NOISE, loader=None).load()


def test_facts_are_those_of_the_record_or_of_the_pictures():
    assert find_data("cifar10").facts() == Facts((3, 32, 32), find_data("cifar10").classes, 60_000)
    assert find_data("celeba").facts() == Facts((3, 64, 64))
    assert NOISE.facts() == Facts((1, 28, 28), LETTERS, 42)


def test_a_set_that_is_not_known_here_is_treated_like_a_folder():
    for name in ("somebody-elses", "somebody-elses:argument", "folder:/no/such/place", "folder:"):
        record = learnt_from(name)
        assert record.frame(30, 20) == (0, 0, 30, 20)
        assert not record.research_only
        assert "ask their owner" in record.terms
    assert learnt_from("celeba").research_only
    assert [name for name in DATA_SETS if DATA_SETS[name].research_only] == ["celeba"]


def test_every_set_says_what_it_holds_and_on_what_terms():
    for name in ("mnist-5k", "mnist", "fashion-mnist", "cifar10", "celeba"):
        record = find_data(name)
        assert record.name == name
        assert record.shape is not None
        assert record.terms != learnt_from("unknown").terms
        assert record.terms.endswith(".")
