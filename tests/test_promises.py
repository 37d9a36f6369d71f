"""The commands and snippets of README and docs run as printed, and what they name is there."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

from stawm.cli import main
from stawm.data import load_data
from stawm.store.weights import packaged
from stawm.training.journal import Record
from tiny_command import TINY_MODEL

ROOT = Path(__file__).parent.parent
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
README = PAGES["README.md"]
GENERATED = ("results.md", "trials.md", "presets.md")
"""Pages whose commands are tested with the ledger."""
MOST_BYTES = 12_000


def blocks(language: str, page: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)


WRITTEN = [page for page in PAGES if page not in GENERATED]
LINES = [line for page in WRITTEN for block in blocks("sh", page) for line in block.replace("\\\n", "").splitlines()]
COMMANDS = list(dict.fromkeys(line.partition("#")[0].strip() for line in LINES))
QUICK = ("presets", "evaluate", "figure", "table", "data", "look")


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the runs that the pages speak of have been trained (smaller ones, under the same names)."""
    home = tmp_path_factory.mktemp("visitor")
    with contextlib.chdir(home):
        few = ["--training.epochs", "1", "--training.batch-size", "200"]
        for preset in ("mnist-5k-classify", "mnist-5k-sketchpad", "mnist-5k-cluttered-60"):
            assert main(["train", preset, "--device", "cpu", *TINY_MODEL, *few]) == 0
    digits = [Image.fromarray(pixels[0]) for pixels in load_data("mnist-5k").test.images[:5].numpy()]
    digits[0].save(home / "scan.png")
    digits[1].save(home / "seven.png")
    sheet = Image.new("L", (300, 400), 255)
    sheet.paste(ImageOps.invert(digits[1]).resize((84, 84)), (120, 200))
    sheet.save(home / "page.jpg")
    Image.fromarray(load_data("scenes:2x2+4:1-4").test.images[0, 0].numpy()).save(home / "scene.png")
    for number, digit in enumerate(digits[1:]):
        (home / "pictures" / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        digit.resize((100, 100)).save(home / "pictures" / "ab"[number % 2] / f"{number}.jpg")
    return home


def stawm_commands(*verbs: str) -> list[str]:
    return [command for command in COMMANDS if command.startswith(tuple(f"stawm {verb}" for verb in verbs))]


def test_every_printed_command_is_covered_here():
    known = stawm_commands(*QUICK, "train", "compare", "serve", "calibrate", "export", "ask")
    made = [command for command in COMMANDS if command.startswith("make ")]
    assert len(known) >= 20
    assert sorted([*known, *made, 'pip install ".[all]"']) == sorted(COMMANDS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in [*made, "make lint"]:
        assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("command", stawm_commands(*QUICK))
def test_quick_commands_run_as_printed(command: str, visitor: Path, capsys: pytest.CaptureFixture[str]):
    with contextlib.chdir(visitor):
        assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.skipif("scenes-4-ask" not in packaged(), reason="the weights of scenes do not come with this package")
@pytest.mark.parametrize("command", stawm_commands("ask"))
def test_questions_are_answered_as_printed(command: str, visitor: Path, capsys: pytest.CaptureFixture[str]):
    with contextlib.chdir(visitor):
        assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


TORCHRUN = re.findall(r"`torchrun .* -m (stawm train .*?)`", "".join(PAGES[page] for page in WRITTEN))


@pytest.mark.parametrize("command", [*stawm_commands("train"), *TORCHRUN])
def test_training_commands_are_understood_as_printed(command: str, visitor: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []

    def fit(experiment: Any, run: Path, **options: Any) -> Iterator[Record]:
        started.append((experiment, run, options))
        yield from ()

    monkeypatch.setattr("stawm.training.fit.fit", fit)
    with contextlib.chdir(visitor):
        assert main(shlex.split(command)[1:]) == 0
    experiment, run, options = started[0]
    assert experiment.name == shlex.split(command)[2].partition(":")[0]
    assert options["resume"] == ("--resume" in command)
    assert str(run).startswith("runs/")


@pytest.mark.parametrize("command", stawm_commands("compare"))
def test_grids_are_planned_as_printed(command: str, visitor: Path, capsys: pytest.CaptureFixture[str]):
    with contextlib.chdir(visitor):
        assert main([*shlex.split(command)[1:], "--list"]) == 0
    assert "parameters" in capsys.readouterr().out


@pytest.mark.parametrize("command", stawm_commands("serve"))
def test_the_page_is_served_as_printed(command: str, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []
    monkeypatch.setattr("stawm.serve.run.run_server", started.append)
    assert main(shlex.split(command)[1:]) == 0
    if "--" not in command:
        assert f"http://{started[0].host}:{started[0].port}" in README


# That of export.md needs an exported file: `test_portable.py` runs it.
SNIPPETS = [(page, number) for page in WRITTEN if page != "export.md" for number in range(len(blocks("python", page)))]


@pytest.mark.parametrize(("page", "number"), SNIPPETS)
def test_snippets_run_as_printed(page: str, number: int, visitor: Path):
    if "stawm.ask(" in blocks("python", page)[number] and "scenes-4-ask" not in packaged():
        pytest.skip("the weights of scenes do not come with this package")
    told, names = io.StringIO(), {"__name__": "promised"}
    with contextlib.chdir(visitor), contextlib.redirect_stdout(told):
        exec(compile(blocks("python", page)[number], page, "exec"), names)
    assert names.keys() > {"__name__"}


def test_shapes_in_the_snippets_are_right():
    names: dict[str, Any] = {}
    snippet = next(block for block in blocks("python", "README.md") if "HebbRosenblatt" in block)
    exec(compile(snippet, "README.md", "exec"), names)
    assert names["answer"].recalls.shape == (32, 10, 64)
    assert names["answer"].terminal.shape == (32, 64)
    assert names["memory"].matrix(names["state"]).shape == (32, 64, 64)


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_links_or_shows_are_there(page: str):
    home = ROOT if page == "README.md" else ROOT / "docs"
    for target in re.findall(r"\]\((?!http)(.*?)\)", PAGES[page]):
        path, _, anchor = target.partition("#")
        assert not path or (home / path).is_file(), target
        assert path or f"\n## {anchor}\n" in PAGES[page], target


def test_the_readme_is_short_and_its_tree_is_the_tree():
    assert len(README.encode()) <= MOST_BYTES
    tree = next(block for block in blocks("text", "README.md") if block.startswith("src/stawm/"))
    places: list[str] = []
    for line in tree.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        places = [*places[:depth], name]
        assert (ROOT / "".join(places)).exists(), line
    for room in (ROOT / "src" / "stawm").iterdir():
        if room.is_dir() and (room / "__init__.py").exists():
            assert f"\n  {room.name}/ " in tree


def test_every_file_that_the_plan_of_the_house_names_is_there():
    named = re.findall(r"`((?:tests/)?[a-z_/]+\.(?:py|js))`", PAGES["house.md"])
    assert len(named) > 20
    for name in named:
        assert (ROOT / name).is_file() or (ROOT / "src" / "stawm" / name).is_file(), name


def test_every_page_of_the_docs_is_linked_from_the_readme():
    for page in PAGES.keys() - {"README.md"}:
        assert f"(docs/{page})" in README


def test_the_exit_codes_are_those_of_the_errors():
    from stawm import errors

    told = dict(re.findall(r"(\d) (usage|data|checkpoint|training|cannot write)", PAGES["training.md"]))
    kinds = (errors.UsageError, errors.DataError, errors.CheckpointError, errors.TrainingError, errors.StorageError)
    assert [int(code) for code in told] == [kind.exit_code for kind in kinds]
