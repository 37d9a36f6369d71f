"""What shall vary, as Python and as words; the plan of it; parameters that are matched."""

from pathlib import Path

import pytest

from stawm.cli.vary import axis_of, seeds_of, with_words
from stawm.compare.grid import plan_grid
from stawm.compare.matching import TOLERANCE
from stawm.compare.plan import PLAN, Axis, Plan, Value, read_plan, write_plan
from stawm.compare.training import Training
from stawm.errors import CheckpointError, UsageError
from tiny_grid import QUICK
from tiny_run import TINY

TRAINING = Training(TINY)
RULE, SIZE = "model.memory.rule", "model.memory.size"


def test_a_setting_and_its_values():
    assert axis_of("model.memory.size=64, 128") == Axis(SIZE, (Value("64", {SIZE: "64"}), Value("128", {SIZE: "128"})))
    assert axis_of("a-b=4 4,8 8").values == (Value("4 4", {"a_b": "4 4"}), Value("8 8", {"a_b": "8 8"}))
    assert axis_of("size: model.memory.size=64,128").name == "size"


@pytest.mark.parametrize("name", ["", "rule: "])
def test_bundles_vary_together_and_may_have_labels(name: str):
    axis = axis_of(f"{name}slow: m.rule=hebb m.delta=0.1 f=4 4 | delta: m.rule=delta | plain:")
    assert axis.name == ("rule" if name else "m.rule")
    assert axis.values == (
        Value("slow", {"m.rule": "hebb", "m.delta": "0.1", "f": "4 4"}),
        Value("delta", {"m.rule": "delta"}),
        Value("plain", {}),
    )


def test_bundles_without_labels_are_called_by_their_values():
    axis = axis_of("m.rule=hebb m.delta=0.1 | m.rule=delta")
    assert [value.label for value in axis.values] == ["hebb 0.1", "delta"]
    assert axis_of("way: m.rule=hebb | m.rule=delta").name == "way"
    assert axis_of("data.name=folder:a,folder:b").values[1] == Value("folder:b", {"data.name": "folder:b"})


@pytest.mark.parametrize(
    "words", ["", "size", "size 64", "a: b: c: x=1 | d: x=2", "=3", "x=1 |", "a: | b:", "1 x=2 | x=3"]
)
def test_words_that_say_nothing_are_refused(words: str):
    with pytest.raises(UsageError, match="--vary"):
        axis_of(words)


def test_labels_may_have_several_words():
    axis = axis_of("left out: nothing at all: x=1 | windows of 0.4: y=2 z=3 3")
    assert axis == Axis(
        "left out", (Value("nothing at all", {"x": "1"}), Value("windows of 0.4", {"y": "2", "z": "3 3"}))
    )


@pytest.mark.parametrize(("words", "part"), [("a: x=1 | b y=2", "'b y=2'"), ("x=1 | a: b: y=2", "'a: b: y=2'")])
def test_the_part_that_cannot_be_read_is_named(words: str, part: str):
    with pytest.raises(UsageError, match=f"cannot be read at {part}"):
        axis_of(words)


def test_seeds():
    assert seeds_of("0,3, 5") == (0, 3, 5)
    with pytest.raises(UsageError, match="'0,x'"):
        seeds_of("0,x")


def test_an_axis_told_is_the_axis():
    for words in (
        "model.memory.size=64,128",
        "rule: slow: m.rule=hebb f=4 4 | delta: m.rule=delta",
        "s: s: x=1 | t: x=2",
        "m.rule=hebb m.delta=0.1 | m.rule=delta",
        "what is left out: nothing at all: x=1 | windows of 0.4: x=2",
    ):
        axis = axis_of(words)
        assert axis_of(axis.told()) == axis


def grid(vary: object = None, seeds: tuple[int, ...] = (0, 1), **more: object) -> Plan:
    chosen = {SIZE: [12, 16]} if vary is None else vary
    return plan_grid(TRAINING, chosen, seeds, **more)  # pyright: ignore[reportArgumentType]


def test_every_combination_is_a_cell_with_its_settings():
    bundles = {"slow": {"model.memory.delta": 0.1}, "delta": {RULE: "delta-rule"}}
    plan = grid({"rule": bundles, SIZE: [12, 16]}, (0, 7))
    assert [cell.name for cell in plan.cells][:4] == [
        "slow-size12-seed0",
        "slow-size12-seed7",
        "slow-size16-seed0",
        "slow-size16-seed7",
    ]
    assert len({cell.name for cell in plan.cells}) == 8
    last = plan.cells[-1]
    assert last.values == {"rule": "delta", SIZE: "16"}
    assert (last.task.settings[RULE], last.task.settings[SIZE], last.task.seed) == ("delta-rule", 16, 7)
    assert plan.cells[0].task.settings["model.memory.delta"] == 0.1
    assert last.parameters == last.task.parameters()


def test_words_and_values_make_the_same_cells():
    words = plan_grid(TRAINING, [axis_of("model.memory.size=12,16")], (0, 1), change=with_words)
    assert [cell.task for cell in words.cells] == [cell.task for cell in grid().cells]


@pytest.mark.parametrize(
    ("vary", "named"),
    [
        ({"model.memory.sise": [1]}, "did you mean model.memory.size"),
        ({RULE: ["delta-rul"]}, "did you mean delta-rule"),
        ({SIZE: ["x"]}, "size"),
        ({SIZE: [0]}, "model.memory.size is 0"),
        ({SIZE: [12, 12]}, "12, 12"),
        ({SIZE: []}, "at least one"),
        ({"a": {"x": {SIZE: 1}}, "b": {"y": {SIZE: 2}}}, SIZE),
        ({"a": {"1-2": {}, "1/2": {}}}, "a1-2-seed0"),
    ],
)
def test_mistakes_are_told_before_anything_runs(vary: dict[str, object], named: str):
    with pytest.raises(UsageError, match=named):
        grid(vary)


@pytest.mark.parametrize(
    ("words", "named"), [("training.epochs=x", "training.epochs"), ("data.flip=maybe", "maybe"), ("seeds=1", "seeds")]
)
def test_wrong_words_are_one_line(words: str, named: str):
    with pytest.raises(UsageError, match=named) as told:
        plan_grid(TRAINING, [axis_of(words)], change=with_words)
    assert "\n" not in str(told.value)
    assert "──" not in str(told.value)


@pytest.mark.parametrize("seeds", [(), (1, 1)])
def test_seeds_are_given_once(seeds: tuple[int, ...]):
    with pytest.raises(UsageError, match="seeds"):
        grid(seeds=seeds)


def test_parameters_are_matched_to_the_first_of_the_same_other_settings():
    plan = grid({SIZE: [12, 24, 16], "model.glimpse.filters": [(4, 8), (4, 4)]}, (0,), match="model.hidden")
    counts = {tuple(cell.values.values()): cell.parameters for cell in plan.cells}
    free = {
        tuple(cell.values.values()): cell.parameters
        for cell in grid({SIZE: [12, 24, 16], "model.glimpse.filters": [(4, 8), (4, 4)]}, (0,)).cells
    }
    for filters in ("4 8", "4 4"):
        first = counts["12", filters]
        assert first == free["12", filters], "the first stays as it is"
        for size in ("24", "16"):
            assert abs(free[size, filters] - first) > TOLERANCE * first
            assert abs(counts[size, filters] - first) <= TOLERANCE * first


def test_parameters_that_cannot_be_matched_are_told():
    with pytest.raises(UsageError, match=r"cannot be matched.*model.hidden = 2"):
        grid({SIZE: [4, 400]}, (0,), match="model.hidden")
    with pytest.raises(UsageError, match=r"data\.name"):
        grid({SIZE: [12, 24]}, (0,), match="data.name")


@pytest.mark.parametrize("base", [TRAINING, QUICK], ids=["train", "recall"])
def test_a_plan_comes_back_from_its_file(base: object, tmp_path: Path):
    size = SIZE if base is TRAINING else "memory.size"
    plan = plan_grid(base, {size: [12, 16]}, (0, 3))  # pyright: ignore[reportArgumentType]
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan


def test_a_plan_may_grow_and_nothing_else(tmp_path: Path):
    write_plan(tmp_path, grid())
    write_plan(tmp_path, grid({SIZE: [12, 14, 16]}, (0, 1, 2)))
    assert len(read_plan(tmp_path).cells) == 9
    with pytest.raises(CheckpointError, match="size14-seed0"):
        write_plan(tmp_path, grid({SIZE: [12, 16]}, (0, 1, 2)))
    other = Training(TINY).changed({"training.epochs": 9})
    with pytest.raises(CheckpointError, match=r"training.epochs = 2, not 9"):
        write_plan(tmp_path, plan_grid(other, {SIZE: [12, 14, 16]}, (0, 1, 2)))
    with pytest.raises(CheckpointError, match="recall"):
        write_plan(tmp_path, plan_grid(QUICK, {"memory.size": [12]}))
    assert len(read_plan(tmp_path).cells) == 9


def test_a_plan_that_is_missing_or_damaged_is_told(tmp_path: Path):
    with pytest.raises(CheckpointError, match=PLAN):
        read_plan(tmp_path)
    write_plan(tmp_path, grid())
    (tmp_path / PLAN).write_text((tmp_path / PLAN).read_text().replace('"size": 12', '"size": 13', 1))
    with pytest.raises(CheckpointError, match="checksum"):
        read_plan(tmp_path)
