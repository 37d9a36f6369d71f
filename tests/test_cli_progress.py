import io
import json
from collections.abc import Iterator

import pytest
from rich.console import Console

from stawm.cli import progress
from stawm.cli.progress import BarReporter, JsonReporter, PlainReporter, Reporter, duration, reporter_for, watch
from stawm.training.journal import Record, Step


def step(place: int = 5, seconds_left: float = 3725.0) -> Step:
    return Step(
        epoch=2,
        epochs=4,
        step=place,
        steps=10,
        loss=0.51234,
        scores={"error": 0.1234},
        images_per_second=1234.4,
        seconds_left=seconds_left,
    )


def record(*warnings: str, scores: dict[str, float] | None = None, epoch: int = 2) -> Record:
    return Record(
        epoch=epoch,
        step=20,
        learning_rate=1e-3,
        train={"loss": 0.5, "cross_entropy": 0.5, "error": 0.25},
        held_out={"split": "test", "count": 1000, "scores": scores or {"error": 0.0041}},
        health={},
        warnings=list(warnings),
        timing={"seconds": 75.0},
    )


def test_plain_lines_for_logs(capsys: pytest.CaptureFixture[str]):
    told = PlainReporter(every=0.0)
    told.stored(12_250, 55_000)
    told.step(step())
    told.epoch(record("the memory saturates"))
    stored, moment, measured, epoch, warning = capsys.readouterr().out.splitlines()
    assert stored == "the frozen model has looked at 12,250 of 55,000 pictures; what it makes of them is stored"
    assert moment == "epoch 2/4, step 5/10: loss 0.5123, error 12.34 %, 1,234 images/s, 1 h 02 min left"
    assert "1,000 test pictures" in measured
    assert epoch == "epoch 2/4: loss 0.5000, training error 25.00 %, error 0.41 %, rate 1.0e-03, 1 min 15 s"
    assert warning == "warning: the memory saturates"


def test_every_score_of_the_heads_is_told(capsys: pytest.CaptureFixture[str]):
    PlainReporter().epoch(record(scores={"mse": 0.01234, "error": 0.5}))
    told = capsys.readouterr().out
    assert "error 50.00 %" in told
    assert "mean squared error 0.0123" in told


def test_a_thing_is_said_once(capsys: pytest.CaptureFixture[str]):
    stuck, left = "saturated: {}% of units", "glimpses left: {}"
    epochs = [
        [stuck.format(91)],
        [stuck.format(95), left.format("2 (81%)")],
        [stuck.format(93), left.format("2 (85%), 3 (90%)")],
        [left.format(4)],
        [stuck.format(97), left.format(4)],
        [],
    ]
    watch((record(*warnings, epoch=number) for number, warnings in enumerate(epochs, 1)), PlainReporter())
    lines = capsys.readouterr().out.splitlines()
    assert sum("test pictures" in line for line in lines) == 1
    warned = [line for line in lines if line.startswith("warning: ")]
    assert warned == [
        "warning: saturated: 91% of units",
        "warning: glimpses left: 2 (81%)",
        "warning: saturated: 97% of units",
        "warning: in 4 of 6 epochs: saturated: 97% of units",
        "warning: in 4 of 6 epochs: glimpses left: 4",
    ]


def test_a_warning_of_one_epoch_is_not_counted_again(capsys: pytest.CaptureFixture[str]):
    watch([record("odd"), record()], PlainReporter())
    assert capsys.readouterr().out.count("odd") == 1


def test_plain_lines_come_now_and_then_only(capsys: pytest.CaptureFixture[str]):
    told = PlainReporter(every=1000.0)
    for place in range(10):
        told.stored(place, 10)
        told.step(step(place))
    assert capsys.readouterr().out == ""


def test_bar_shows_the_moment_and_epochs_stay_above_it(monkeypatch: pytest.MonkeyPatch):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    monkeypatch.setattr(progress, "Console", lambda: console)
    with BarReporter() as told:
        told.step(step())
        told.epoch(record("glimpses collapse [to one place]"))
    shown = out.getvalue()
    for part in ("epoch 2/4", "loss 0.5123", "error 12.34 %", "1,234 images/s", "1 h 02 min left", "error 0.41 %"):
        assert part in shown
    assert "glimpses collapse [to one place]" in shown


def test_bar_speaks_even_if_no_step_was_left(monkeypatch: pytest.MonkeyPatch):
    out = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda: Console(file=out, width=120))
    with BarReporter() as told:
        told.epoch(record())
    assert "\nepoch 2: loss 0.5000" in out.getvalue()


def test_the_reporter_suits_the_output(monkeypatch: pytest.MonkeyPatch):
    assert type(reporter_for(as_json=False)) is PlainReporter
    assert type(reporter_for(as_json=True)) is JsonReporter
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert type(reporter_for(as_json=False)) is BarReporter
    monkeypatch.setenv("RANK", "1")
    assert type(reporter_for(as_json=True)) is Reporter


def test_watching_a_run_to_its_end(capsys: pytest.CaptureFixture[str]):
    def run() -> Iterator[Record]:
        yield record()
        yield record("w")

    watch(run(), Reporter())
    assert capsys.readouterr().out == ""
    watch(run(), JsonReporter())
    assert [json.loads(line)["warnings"] for line in capsys.readouterr().out.splitlines()] == [[], ["w"]]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (7625, "2 h 07 min")],
)
def test_time_in_words(seconds: float, words: str):
    assert duration(seconds) == words
