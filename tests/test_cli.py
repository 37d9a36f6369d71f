import json
import os
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest
from PIL import Image

from fresh_process import start
from stawm import __version__
from stawm.cli import VERBS, main
from stawm.cli.overrides import override
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import PRESETS, preset
from stawm.training.fit import fit
from tiny_command import TINY_MODEL

SMALL = [*TINY_MODEL, "--training.batch-size", "500", "--training.epochs", "2"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small finished run."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    assert main(["train", "mnist-5k-classify", "--run", str(folder), "--device", "cpu", *SMALL]) == 0
    return folder


def size_and_format(path: Path) -> tuple[tuple[int, int], str | None]:
    with Image.open(path) as picture:
        return picture.size, picture.format


def test_version_is_quick_and_needs_no_torch():
    code = (
        "import sys; from stawm.cli import main; main(['--version']); "
        "print(sorted({'torch', 'tyro', 'rich', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout == f"stawm {__version__}\n[]\n"


def test_importing_the_package_computes_nothing():
    code = "import sys, stawm; print(sorted({'torch', 'numpy'} & set(sys.modules)), {*stawm.__all__} <= {*dir(stawm)})"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout == "[] True\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb_teaches_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]):
    assert main([verb, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"\n  stawm {verb} " in told.partition("Examples:")[2]


def test_help_of_a_preset_lists_its_fields_with_their_values(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "mnist-classify-28", "--help"]) == 0
    told = capsys.readouterr().out
    assert "--model.memory.size INT" in told
    assert "(default: 512)" in told
    assert "--resume" in told
    assert "--run" in told


def test_help_with_a_rule_lists_the_settings_of_that_rule(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "mnist-5k-classify", "--model.memory.rule", "delta-rule", "--help"]) == 0
    told = capsys.readouterr().out
    assert "--model.memory.eta" in told
    assert "--model.memory.theta" not in told


def test_help_of_a_verb_needs_no_torch():
    verbs = [verb for verb in VERBS if verb != "figure"]  # its help lists all figures
    code = (
        f"import sys; from stawm.cli import main; told = [main([verb, '--help']) for verb in {verbs}]; "
        "print(*told, 'torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.splitlines()[-1].split() == [*["0"] * len(verbs), "False"]


def test_overview_names_every_verb(capsys: pytest.CaptureFixture[str]):
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {verb}" in told for verb in VERBS)
    assert main([]) == 2


def test_presets_are_listed_with_their_place_and_number(capsys: pytest.CaptureFixture[str]):
    assert main(["presets"]) == 0
    told = capsys.readouterr().out
    assert all(known.name in told for known in PRESETS.values())


def test_a_preset_is_shown_in_full(capsys: pytest.CaptureFixture[str]):
    assert main(["presets", "mnist-classify-8"]) == 0
    told = capsys.readouterr().out
    shown = preset("mnist-classify-8")
    assert "50 100 150 190 195" in told
    assert all(departure.reason in told for departure in shown.departures)
    assert main(["presets", "mnist-classify-8", "--json"]) == 0
    assert Experiment.from_dict(json.loads(capsys.readouterr().out)) == shown
    assert main(["presets", "--json"]) == 0
    assert [known["name"] for known in json.loads(capsys.readouterr().out)] == list(PRESETS)


def test_departures_about_what_is_overridden_are_dropped():
    plain = preset("mnist-classify-8-fast")
    changed = override(plain, ["--data.hold-out", "10"])
    assert {one.fields for one in plain.departures} - {one.fields for one in changed.departures} == {("data.hold_out",)}
    assert len(changed.departures) == len(plain.departures) - 1


def test_data_sets_are_listed_and_found(capsys: pytest.CaptureFixture[str]):
    assert main(["data", "list"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("mnist-5k", "fashion-mnist", "cifar10", "celeba", "folder:PATH"))
    assert main(["data", "list", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    begun = {line.split()[0] for line in told.splitlines() if not line.startswith(" ")}
    assert begun == {one["name"] for one in records}, "a name runs into what is said of it"
    first = next(one for one in records if one["name"] == "mnist-5k")
    assert (first["train"], first["test"], first["here"]) == (4000, 1000, True)
    assert main(["data", "get", "mnist-5k"]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    assert main(["data", "get", "mnist-5k", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["where"] == first["where"]


def test_a_run_leaves_its_folder_and_its_weights(trained: Path):
    for part in ("experiment.json", "metrics.jsonl", "weights/model.safetensors", "weights/config.json"):
        assert (trained / part).is_file()
    epochs = [json.loads(line)["epoch"] for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert epochs == [1, 2]


def test_evaluation_repeats_what_training_measured(trained: Path, capsys: pytest.CaptureFixture[str]):
    last = json.loads((trained / "metrics.jsonl").read_text().splitlines()[-1])["held_out"]
    assert main(["evaluate", str(trained), "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["error"] == pytest.approx(last["scores"]["error"], abs=1e-9)
    assert found["error_after_glimpse"] == pytest.approx(last["error_after_glimpse"], abs=1e-9)
    assert (found["data"], found["count"]) == ("mnist-5k", 1000)
    assert main(["evaluate", str(trained / "weights"), "--data", "mnist-5k"]) == 0
    told = capsys.readouterr().out
    for error in (last["scores"]["error"], *last["error_after_glimpse"]):
        assert f"{100 * error:.2f} %" in told
    assert told.count("after glimpse") == 2


def test_figures_are_drawn_where_asked(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "made" / "looked.png"
    assert main(["figure", "looked", str(trained), "--out", str(out), "--pictures", "3"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    three, _ = size_and_format(out)
    assert main(["figure", "looked", str(trained / "weights"), "--out", str(out), "--pictures", "4"]) == 0
    assert size_and_format(out)[0][1] > three[1]
    assert main(["figure", "curve", str(trained), "--out", str(tmp_path / "curve.jpg")]) == 0
    assert size_and_format(tmp_path / "curve.jpg")[1] == "JPEG"
    assert main(["figure", "curve", str(trained)]) == 0
    assert size_and_format(trained / "curve.png")[1] == "PNG"


def test_json_is_one_line_an_epoch_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = tmp_path / "run"
    assert main(["train", "mnist-5k-classify", "--run", str(run), "--json", "--device", "cpu", *SMALL]) == 0
    told = capsys.readouterr()
    assert [json.loads(line)["epoch"] for line in told.out.splitlines()] == [1, 2]
    assert told.out.splitlines() == (run / "metrics.jsonl").read_text().splitlines()
    assert told.err == ""


def test_the_folder_of_a_run_is_named_after_preset_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "mnist-5k-classify", "--seed", "7", *SMALL, "--training.epochs", "1"]) == 0
    assert (tmp_path / "runs" / "mnist-5k-classify-seed7" / "weights" / "config.json").is_file()
    told = capsys.readouterr().out
    assert "epoch 1/1: loss " in told
    assert told.count("test pictures") == 1


def test_an_interrupted_run_says_how_to_go_on_and_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = tmp_path / "run"
    train = ["train", "mnist-5k-classify", "--run", str(run), "--device", "cpu"]
    small = [*SMALL, "--training.checkpoint-every", "5", "--training.epochs", "500"]
    started = start(main, [*train, *small], home=tmp_path)
    give_up = time.monotonic() + 200
    while not list(run.glob("checkpoints/*.safetensors")) and started.process.is_alive() and time.monotonic() < give_up:
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGINT)
    assert (started.end(), started.err.read_text()) == (130, "stawm: stopped; go on with --resume\n")
    # What it was begun with need not be said again; one more epoch of the 500 shows that it goes on.
    done = len((run / "metrics.jsonl").read_text().splitlines()) if (run / "metrics.jsonl").exists() else 0
    monkeypatch.setattr("stawm.training.fit.fit", lambda *given, **more: islice(fit(*given, **more), 1))
    assert main([*train, "--resume"]) == 0
    assert json.loads((run / "experiment.json").read_text())["training"]["epochs"] == 500
    epochs = [json.loads(line)["epoch"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert epochs == list(range(1, done + 2))


def test_a_reader_that_goes_away_is_no_mistake():
    """Neither where we print nor where tyro does."""
    for arguments in (["--help"], ["train", "--help"]):
        command = [sys.executable, "-m", "stawm", *arguments]
        listing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()
        with listing.stderr:
            assert (listing.wait(timeout=60), listing.stderr.read()) == (0, "")
