from dataclasses import replace

import pytest

from stawm.model.heads.head import Score
from stawm.show.plot import Run, by_recipe, over_seeds
from tiny_run import TINY, with_training


def seeded(name: str, seed: int, **training: object) -> Run:
    return Run(name, replace(with_training(TINY, **training), seed=seed))


def test_runs_that_differ_only_in_their_seed_share_a_line_named_without_it():
    runs = [seeded("a-seed0", 0), seeded("b", 0, epochs=3), seeded("a-seed1", 1)]
    assert by_recipe(runs) == {"a, seeds 0, 1": [runs[0], runs[2]], "b": [runs[1]]}


def test_the_seed_in_the_name_of_the_run_that_was_started_from_is_no_difference():
    runs = [seeded(f"long-seed{seed}", seed, start_from=f"runs/short-seed{seed}") for seed in (0, 1)]
    assert list(by_recipe(runs)) == ["long, seeds 0, 1"]
    other = [seeded("long-seed0", 0, start_from="runs/x-seed0"), seeded("long-seed1", 1, start_from="runs/y-seed1")]
    assert list(by_recipe(other)) == ["long-seed0", "long-seed1"]


def test_the_same_recipe_and_seed_twice_is_compared_not_averaged():
    runs = [seeded(name, seed) for seed in (0, 1) for name in (f"old-seed{seed}", f"new-seed{seed}")]
    assert by_recipe(runs) == {"old, seeds 0, 1": runs[::2], "new, seeds 0, 1": runs[1::2]}


def test_names_that_share_nothing_are_all_told():
    assert list(by_recipe([seeded("one", 0), seeded("two", 1)])) == ["one and two, seeds 0, 1"]


def test_runs_without_an_experiment_stand_alone():
    assert len(by_recipe([Run("one"), Run("two")])) == 2


def test_mean_and_sample_deviation_as_far_as_all_runs_go():
    line = over_seeds([{1: 1.0, 2: 4.0, 3: 9.0}, {1: 3.0, 2: 4.0}])
    assert line.at == [1, 2]
    assert line.means.tolist() == [2.0, 4.0]
    assert line.deviations.tolist() == pytest.approx([2**0.5, 0.0])
    assert line.scaled(10.0).deviations.tolist() == pytest.approx([10 * 2**0.5, 0.0])


def test_the_end_is_told_with_a_deviation_only_where_there_are_several_seeds():
    score = Score("mse", "mean squared error", digits=2)
    assert over_seeds([{1: 9.0, 2: 0.5}]).end(score) == "0.50"
    assert over_seeds([{1: 1.0}, {1: 3.0}]).end(score) == "2.00 ± 1.41"
