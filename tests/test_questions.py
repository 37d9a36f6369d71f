"""Questions after looking: what is wanted, what is judged, and that answers come out of the memory."""

from dataclasses import replace

import pytest
import torch

from stawm.data.data_set import load_data
from stawm.errors import DataError
from stawm.experiments.build import build, judge_of
from stawm.experiments.check import check_pictures
from stawm.experiments.presets import preset
from stawm.measure.evaluate import evaluate
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.model.heads.detect import Detect
from stawm.model.heads.head import Batch
from stawm.model.heads.identify import Identify
from stawm.model.heads.locate import Locate
from stawm.model.heads.question import QuestionConfig, Told, cells_of
from stawm.model.stawm import Stawm
from stawm.training.engine import optimiser_for
from tiny_learning import taught, total
from tiny_seed import SHIFT

CELLS = torch.tensor([[3, -1, 3, 7], [0, 1, 2, 3]])
CONFIG = QuestionConfig(rows=2, columns=2, classes=10)
HEADS_OF = {"identify": Identify, "locate": Locate, "detect": Detect}


def told(logits: torch.Tensor, looked: torch.Tensor | None = None) -> Told:
    batch, questions, _ = logits.shape
    glimpses = 1 if looked is None else looked.shape[1]
    return Told(torch.zeros(batch, questions, 4), torch.zeros(batch, questions, glimpses, 4), logits, looked)


def test_what_is_wanted() -> None:
    assert torch.equal(Identify.objective(CONFIG).wanted(CELLS), CELLS)
    assert Detect.objective(CONFIG).wanted(CELLS).tolist() == [[1, 0, 1, 1], [1, 1, 1, 1]]
    where = Locate.objective(CONFIG).wanted(CELLS).tolist()
    assert where[0] == [-1, -1, -1, -1, -1, -1, -1, 3, -1, -1], "a 3 is in two places, the 7 in one"
    assert where[1] == [0, 1, 2, 3, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("name", HEADS_OF)
def test_only_questions_that_have_an_answer_are_judged(name: str) -> None:
    """Against a plain loop: the mean of −log p and the share of wrong answers over the questions with an answer."""
    head = HEADS_OF[name]
    objective = head.objective(replace(CONFIG, weight=2.0))
    questions, answers = head.sizes(CONFIG)
    torch.manual_seed(SHIFT)
    logits = torch.randn(2, questions, answers, dtype=torch.float64)
    wanted = objective.wanted(CELLS)
    losses, wrong = [], []
    for row in range(2):
        for question in range(questions):
            if (right := int(wanted[row, question])) >= 0:
                losses.append(-logits[row, question].log_softmax(0)[right])
                wrong.append(float(logits[row, question].argmax() != right))
    batch = Batch(torch.zeros(2, 1, 2, 2), CELLS)
    (term,) = objective.terms(told(logits), batch).values()
    torch.testing.assert_close(term, 2 * torch.stack(losses).mean())
    (score,) = objective.scores(told(logits), batch).values()
    assert score.shape == (2,)
    assert score.mean().item() == pytest.approx(sum(wrong) / len(wrong))


def test_what_was_forgotten_is_told_by_the_time_of_looking() -> None:
    logits = torch.nn.functional.one_hot(CELLS.clamp_min(0), 10).float()
    logits[1, 2] = torch.nn.functional.one_hot(torch.tensor(9), 10).float()  # the 2 is taken for a 9
    looked = torch.tensor([[0, 1, 2, 3], [2, 3, 1, -1]])
    batch = Batch(torch.zeros(2, 1, 2, 2), CELLS)
    (forgotten,) = Identify.objective(CONFIG).after_each(told(logits, looked), batch).values()
    assert forgotten.mean(0).tolist() == [0.5, 0.0, 0.0, 0.0], "cell 1 is empty, and one glimpse was outside"


def test_the_cell_of_a_glimpse_is_that_of_its_centre() -> None:
    centres = torch.tensor([[-0.9, -0.9], [0.1, -0.5], [-0.2, 0.3], [0.9, 0.9], [1.2, 0.0]])
    poses = torch.cat([torch.zeros(5, 2, 2), centres.unsqueeze(-1)], -1)[None]
    assert cells_of(poses, 2, 2).tolist() == [[0, 1, 2, 3, -1]]
    assert cells_of(poses, 1, 4).tolist() == [[0, 2, 1, 3, -1]]


def test_other_pictures_are_refused_in_one_line() -> None:
    config = preset("scenes-4-ask").model
    with pytest.raises(DataError, match="no cells"):
        Identify.check_data(CONFIG, "mnist-5k", torch.zeros(3, dtype=torch.int64), tuple("0123456789"))
    scenes = load_data("scenes:3x3:4").test
    wider = replace(config, image=replace(config.image, height=42, width=42))
    with pytest.raises(DataError, match="9 cells"):
        check_pictures(scenes, wider)
    with pytest.raises(DataError, match="no cells"):
        Identify.objective(CONFIG).terms(told(torch.zeros(2, 4, 10)), Batch(torch.zeros(2, 1, 2, 2), None))


@pytest.fixture(scope="module")
def learnt() -> tuple[Stawm, Batch, list[float]]:
    """A small model after a few dozen steps on one batch of scenes."""
    torch.manual_seed(SHIFT)
    base = preset("scenes-8-recall")
    heads = {name: QuestionConfig(rows=2, columns=4) for name in HEADS_OF}
    experiment = replace(base, model=replace(base.model, heads=heads, memory=HebbRosenblattConfig(size=32)))
    model, judge = build(experiment.model), judge_of(experiment)
    assert isinstance(model, Stawm)
    scenes = load_data("scenes:2x4:6").train
    assert scenes.labels is not None
    batch = Batch(scenes.images[:24].float() / 255, scenes.labels[:24])
    optimiser = optimiser_for(model, experiment.training)
    losses = taught(optimiser, lambda: total(judge.terms(model(batch.images), batch)), 100)
    return model.eval(), batch, losses


def test_every_question_is_learnt(learnt: tuple[Stawm, Batch, list[float]]) -> None:
    _, _, losses = learnt
    assert losses[-1] < 0.8 * losses[0]


def test_every_answer_counts_alike_whatever_the_batches() -> None:
    """With a policy that looks at a picture the same way in any company."""
    torch.manual_seed(SHIFT)
    model, scenes = build(preset("scenes-4-ask").model), load_data("scenes:2x2+4:1-4").test
    assert scenes.labels is not None
    few = replace(scenes, images=scenes.images[:40], labels=scenes.labels[:40])
    whole, parts = (evaluate(model, few, batch_size=size) for size in (40, 3))
    assert parts["scores"] == pytest.approx(whole["scores"], abs=1e-6)
    forgotten = [name for name in whole if name.endswith("_forgotten_after_glimpse")]
    assert forgotten == ["identify_forgotten_after_glimpse", "detect_forgotten_after_glimpse"]
    for name in forgotten:
        assert parts[name] == pytest.approx(whole[name], abs=1e-6) and len(whole[name]) == 6


def test_the_answer_comes_out_of_the_memory(learnt: tuple[Stawm, Batch, list[float]]) -> None:
    """With the codes of the next scene in memory, the model answers about that scene, bit for bit; a memory of nothing
    gives all scenes the same answers: nothing reaches the head around the memory."""
    model, batch, _ = learnt
    with torch.no_grad():
        gaze = model.gaze(batch.images)
        own = model.ask(gaze.context, gaze.codes, gaze.scene).answers["identify"].logits
        rolled = model.ask(gaze.context, gaze.codes.roll(1, 0), gaze.scene).answers["identify"].logits
        blank = model.ask(gaze.context, torch.zeros_like(gaze.codes), gaze.scene).answers["identify"].logits
    torch.testing.assert_close(rolled, own.roll(1, 0))
    assert torch.equal(blank, blank[:1].expand_as(blank))
    assert (own - blank).abs().max() > 1e-3


def test_the_memory_is_written_before_anything_is_asked(learnt: tuple[Stawm, Batch, list[float]]) -> None:
    """Other questions change no code and no state."""
    model, batch, _ = learnt
    with torch.no_grad():
        first = model(batch.images)
        asked = {name: 6 - model.head(name).query(first.context) for name in HEADS_OF}
        gaze = model.gaze(batch.images)
        second = model.ask(gaze.context, gaze.codes, gaze.scene, queries=asked)
    assert torch.equal(first.codes, second.codes)
    assert torch.equal(first.state.codes, second.state.codes)
    assert not torch.equal(first.answers["identify"].logits, second.answers["identify"].logits)


def test_a_constant_query_asks_the_same_about_every_cell() -> None:
    base = preset("scenes-8-recall").model
    model = build(replace(base, heads={"identify": QuestionConfig(rows=2, columns=4, query="constant")})).eval()
    logits = model(torch.rand(2, 1, 28, 56)).answers["identify"].logits
    assert torch.equal(logits, logits[:, :1].expand_as(logits))
