"""The paper's experiments, our recipes for them and small siblings: each is a constant of a module of this package."""

from stawm.experiments.experiment import Experiment
from stawm.registry import Registry

PRESETS: Registry[Experiment] = Registry("preset", home=__name__, group="stawm.presets", kind=Experiment)
"""The presets by name. A script adds one of its own with `PRESETS.add(experiment.name, experiment)`."""


def preset(name: str) -> Experiment:
    """The preset of that name; an unknown name is a `UsageError` that offers the nearest."""
    return PRESETS[name]
