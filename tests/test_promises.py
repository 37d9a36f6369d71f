"""The README's commands and snippets run as printed, and what it names is there."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from stawm.cli import main
from stawm.data import load_data
from stawm.training.journal import Record
from tiny_command import TINY_MODEL

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


COMMANDS = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.replace("\\\n", "").splitlines()]

QUICK = ("presets", "evaluate", "figure", "table", "data", "look")


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the runs that the README speaks of have been trained (smaller ones, under the same names)."""
    home = tmp_path_factory.mktemp("visitor")
    with contextlib.chdir(home):
        few = ["--training.epochs", "1", "--training.batch-size", "200"]
        for preset in ("mnist-5k-classify", "mnist-5k-sketchpad"):
            assert main(["train", preset, "--device", "cpu", *TINY_MODEL, *few]) == 0
    first, second = (Image.fromarray(pixels[0]) for pixels in load_data("mnist-5k").test.images[:2].numpy())
    first.save(home / "scan.png")
    (home / "pictures").mkdir()
    second.resize((100, 100)).save(home / "pictures" / "two.jpg")
    return home


def stawm_commands(*verbs: str) -> list[str]:
    return [command for command in COMMANDS if command.startswith(tuple(f"stawm {verb}" for verb in verbs))]


def test_every_printed_command_is_covered_here():
    known = stawm_commands(*QUICK, "train", "serve")
    made = [command for command in COMMANDS if command.startswith("make ")]
    assert len(known) >= 8
    assert sorted([*known, *made, 'pip install ".[all]"']) == sorted(COMMANDS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in [*made, "make lint"]:
        assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("command", stawm_commands(*QUICK))
def test_quick_commands_run_as_printed(command: str, visitor: Path, capsys: pytest.CaptureFixture[str]):
    with contextlib.chdir(visitor):
        assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [*stawm_commands("train"), *re.findall(r"`torchrun .* -m (stawm train .*?)`", README)]
)
def test_training_commands_are_understood_as_printed(command: str, visitor: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []

    def fit(experiment: Any, run: Path, **options: Any) -> Iterator[Record]:
        started.append((experiment, run, options))
        yield from ()

    monkeypatch.setattr("stawm.training.fit.fit", fit)
    with contextlib.chdir(visitor):
        assert main(shlex.split(command)[1:]) == 0
    experiment, run, options = started[0]
    assert experiment.name == shlex.split(command)[2]
    assert options["resume"] == ("--resume" in command)
    assert str(run).startswith("runs/")


@pytest.mark.parametrize("command", stawm_commands("serve"))
def test_the_page_is_served_as_printed(command: str, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []
    monkeypatch.setattr("stawm.serve.run.run_server", started.append)
    assert main(shlex.split(command)[1:]) == 0
    assert f"http://{started[0].host}:{started[0].port}" in README


@pytest.mark.parametrize("snippet", blocks("python"))
def test_snippets_run_as_printed(snippet: str, visitor: Path):
    told = io.StringIO()
    with contextlib.chdir(visitor), contextlib.redirect_stdout(told):
        exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    if "print(" in snippet:
        assert 0.0 <= float(told.getvalue()) <= 1.0


def test_shapes_in_the_snippets_are_right():
    names: dict[str, Any] = {}
    snippet = next(block for block in blocks("python") if "HebbRosenblatt" in block)
    exec(compile(snippet, "README.md", "exec"), names)
    assert names["answer"].recalls.shape == (32, 10, 64)
    assert names["answer"].terminal.shape == (32, 64)
    assert names["memory"].matrix(names["state"]).shape == (32, 64, 64)


def test_files_that_the_readme_links_or_draws_in_its_tree_are_there():
    for target in re.findall(r"\]\((?!http)(.*?)\)", README):
        assert (ROOT / target).is_file(), target
    tree = next(block for block in blocks("text") if block.startswith("src/stawm/"))
    rooms: list[str] = []
    for line in tree.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        rooms = [*rooms[:depth], name]
        assert (ROOT / "".join(rooms)).exists(), line


def test_every_room_of_the_house_is_in_the_tree():
    tree = next(block for block in blocks("text") if block.startswith("src/stawm/"))
    for room in (ROOT / "src" / "stawm").iterdir():
        if room.is_dir() and (room / "__init__.py").exists():
            assert f"\n  {room.name}/ " in tree


def test_the_exit_codes_are_those_of_the_errors():
    from stawm import errors

    [codes] = [line for line in README.splitlines() if line.startswith("Exit codes:")]
    told = dict(re.findall(r"(\d) (usage|data|checkpoint|training|cannot write)", codes))
    kinds = (errors.UsageError, errors.DataError, errors.CheckpointError, errors.TrainingError, errors.StorageError)
    assert [int(code) for code in told] == [kind.exit_code for kind in kinds]
