"""Controls for questions against a loop over single scenes and questions, written from the memory's own verbs."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor

from stawm.cli import main
from stawm.data import ImageSet
from stawm.data.data_set import load_data
from stawm.data.image_set import batch_of, part_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import judge_of
from stawm.experiments.experiment import CnnConfig, Experiment
from stawm.experiments.presets import preset
from stawm.ledger.record import Told, entry_of
from stawm.measure.controls import another
from stawm.measure.evaluate import evaluate
from stawm.measure.question_controls import CONDITIONS, QuestionControl, all_controls, question_controls
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.question import Asked, QuestionConfig, QuestionHead
from stawm.model.stawm import Stawm
from stawm.store.weights import export
from stawm.training.fit import fit
from tiny_learning import taught, total
from tiny_model import small, stawm
from tiny_seed import SHIFT

COUNT = 11
NAMES = ("identify", "locate", "detect")
BASE = preset("scenes-4-ask")
TINY: Experiment = replace(
    BASE,
    model=replace(
        BASE.model,
        heads={name: QuestionConfig() for name in NAMES},
        glimpses=3,
        context=CnnConfig(filters=(4,), strides=(4,)),
        glimpse=CnnConfig(filters=(4,), strides=(4,)),
        memory=HebbRosenblattConfig(size=12, normalise="fixed"),
    ),
)


@pytest.fixture(scope="module")
def scenes() -> ImageSet:
    return part_of(load_data(BASE.data.name).test, slice(COUNT))


@pytest.fixture(scope="module")
def model(scenes: ImageSet) -> Stawm:
    """A model that knows something of these scenes, so that its answers are many."""
    torch.manual_seed(SHIFT)
    model, judge = stawm(TINY.model), judge_of(TINY)
    batch = batch_of(scenes, torch.arange(COUNT))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    taught(optimiser, lambda: total(judge.terms(model(batch.images), batch)), 80)
    return model.eval()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of few scenes."""
    for name, count in (("EPOCH", 100), ("HELD_OUT", 50)):
        monkeypatch.setattr(f"stawm.data.sets.scenes.{name}", count)


def answers(model: Stawm, name: str, codes: list[Tensor], query: Callable[[int], Tensor]) -> list[int]:
    """The answers to all questions of a head, asked one by one of a memory that is written one code at a time."""
    head, _ = asked(model, name)
    state = model.memory.start(1)
    for code in codes:
        state = model.memory.write(state, code)
    found = []
    for question in range(head.sizes(head.config)[0]):
        recall = model.memory.recall(state, query(question)[None])
        found.append(int(head.answer(torch.relu(head.read(recall))).argmax()))
    return found


def shares(given: list[list[int]], wanted: list[list[int]]) -> float:
    """The share of answers that are right, of those that are wanted."""
    pairs = [zip(*rows, strict=True) for rows in zip(given, wanted, strict=True)]
    right = [one == other for row in pairs for one, other in row if other >= 0]
    return sum(right) / len(right)


def asked(model: Stawm, name: str) -> tuple[QuestionHead, Asked]:
    head = model.head(name)
    assert isinstance(head, QuestionHead)
    objective = head.objective(head.config)
    assert isinstance(objective, Asked)
    return head, objective


@torch.no_grad()
def test_agree_with_a_loop_over_single_scenes(model: Stawm, scenes: ImageSet) -> None:
    found = question_controls(model, scenes, batch_size=4, seed=5)
    by = {(one.head, one.memory, one.query): one for one in found}
    assert len(by) == len(found) == len(NAMES) * len(CONDITIONS)
    assert scenes.labels is not None
    looks = [list(islice(model.unroll(image[None].float() / 255), 3)) for image in scenes.images]
    codes = [[glance.code for glance in gazes[-1].glances] for gazes in looks]
    others = another(COUNT, 5).tolist()
    orders = torch.rand(COUNT, 3, generator=torch.Generator().manual_seed(5)).argsort(1).tolist()
    memories = {
        "own": codes,
        "another's": [codes[other] for other in others],
        "shuffled": [[own[place] for place in order] for own, order in zip(codes, orders, strict=True)],
        "blank": [[torch.zeros_like(code) for code in own] for own in codes],
    }
    for name in NAMES:
        head, objective = asked(model, name)
        wanted = objective.wanted(scenes.labels).tolist()
        known = torch.nn.functional.relu6(head.query.get_parameter("embed.weight"))
        put = another(len(known), 5).tolist()
        queries: dict[str, Callable[[int], Tensor]] = {
            "own": lambda question, known=known: known[question],
            "another's": lambda question, known=known, put=put: known[put[question]],
            "mean": lambda question, known=known: known.mean(0),
        }
        for memory, query in CONDITIONS:
            given = [answers(model, name, written, queries[query]) for written in memories[memory]]
            control = by[name, memory, query]
            assert control.score == f"{name}_error"
            assert control.error == pytest.approx(1 - shares(given, wanted))
            really = [wanted[other] for other in others] if memory == "another's" else wanted
            really = [[row[question] for question in put] for row in really] if query == "another's" else really
            assert (control.follows is None) == ("another's" not in (memory, query))
            assert control.follows is None or control.follows == pytest.approx(shares(given, really))
    assert len({one.error for one in found if one.head == "identify"}) > 2, "the conditions must be told apart"


def test_chance_is_the_least_error_of_answers_that_no_scene_changes(model: Stawm, scenes: ImageSet) -> None:
    found = question_controls(model, scenes)
    assert scenes.labels is not None
    for name in NAMES:
        wanted = asked(model, name)[1].wanted(scenes.labels).T.tolist()
        right = [max(row.count(answer) for answer in range(10)) for row in wanted]
        known = sum(answer >= 0 for row in wanted for answer in row)
        (chance,) = {one.chance for one in found if one.head == name}
        assert chance == pytest.approx(1 - sum(right) / known)
        blank = next(one for one in found if (one.head, one.memory) == (name, "blank"))
        assert blank.error >= chance - 1e-9, "nothing written, nothing known"


def test_as_it_is_the_model_errs_as_evaluation_says(model: Stawm, scenes: ImageSet) -> None:
    found = question_controls(model, scenes)
    own = {one.score: one.error for one in found if (one.memory, one.query) == ("own", "own")}
    assert own == pytest.approx(evaluate(model, scenes)["scores"])
    # A head knows of the question what its query brings back, and no more.
    for one in found:
        if one.query == "another's":
            assert one.follows == pytest.approx(1 - own[one.score])


def test_a_single_question_has_no_other(scenes: ImageSet) -> None:
    alone = stawm(replace(TINY.model, heads={"detect": QuestionConfig(rows=1, columns=1)}))
    pictures = replace(scenes, labels=scenes.labels[:, :1] if scenes.labels is not None else None)
    assert {(one.memory, one.query) for one in question_controls(alone, pictures)} == set(CONDITIONS) - {
        ("own", "another's")
    }


def test_each_kind_of_head_has_its_controls(model: Stawm, scenes: ImageSet) -> None:
    assert all_controls(model, scenes) == ((), question_controls(model, scenes))
    plain = small(heads={"classify": ClassifyConfig(classes=10)})
    digits = replace(scenes, images=scenes.images[..., :12, :12], labels=torch.arange(COUNT) % 10)
    classified, none = all_controls(plain, digits)
    assert len(classified) == 4 and none == ()
    with pytest.raises(UsageError, match="asked questions"):
        question_controls(plain, digits)
    with pytest.raises(DataError, match="no cells"):
        question_controls(model, replace(scenes, labels=torch.arange(COUNT) % 10))


@pytest.mark.usefixtures("few")
def test_the_verb_tells_them(model: Stawm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(export(model, TINY, tmp_path / "weights"))
    assert main(["evaluate", folder, "--controls", "--json", "--device", "cpu"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["controls"] == []
    found = [QuestionControl(**one) for one in told["question_controls"]]
    assert [(one.memory, one.query) for one in found] == list(CONDITIONS) * len(NAMES)
    assert main(["evaluate", folder, "--controls", "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    last = found[-1]
    assert lines[-2] == "detect_error: memory blank, query own"
    assert lines[-1] == f"  error {100 * last.error:.2f} %, by chance {100 * last.chance:.2f} %"
    followed = found[1]
    assert followed.follows is not None
    assert f", about what was put {100 * (1 - followed.follows):.2f} %, by chance" in "\n".join(lines)


@pytest.mark.usefixtures("few")
def test_a_recorded_run_keeps_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    splits = load_data(BASE.data.name)
    experiment = replace(TINY, training=replace(TINY.training, epochs=1, batch_size=50))
    assert len(list(fit(experiment, run, data=splits))) == 1
    entry = entry_of(run, Told("one", chosen_by="nobody"), with_controls=True)
    assert entry.controls == ()
    assert len(entry.question_controls) == len(NAMES) * len(CONDITIONS)
