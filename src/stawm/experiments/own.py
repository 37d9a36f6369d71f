"""A recipe for pictures of one's own, and any recipe fitted to a folder of them."""

from dataclasses import replace

import torch

from stawm.data.data_set import Facts
from stawm.data.sets.folder import NAME
from stawm.errors import UsageError
from stawm.experiments.build import build
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig, ModelConfig
from stawm.experiments.presets import preset
from stawm.model.heads.classify import ClassifyConfig
from stawm.model.heads.draw import DrawConfig
from stawm.model.heads.question import QuestionConfig

FOLDER = f"{NAME}:"
SIBLING = preset("mnist-5k-classify")

# The classifier for laptops and not the sketchpad: what a drawing's loss should count beside the classifier's depends
# on the size of the pictures, and a drawing takes far longer to learn. Never mirrored: they might be letters.
OWN_PICTURES = Experiment(
    name="folder",
    about="Classify pictures of your own, or draw them where they have no classes.",
    model=SIBLING.model,
    data=DataConfig(name=FOLDER, rotate=10.0),
    training=SIBLING.training,
)
DRAWN = {"draw": DrawConfig(latent=8, start=0.0)}
"""For pictures without classes; the canvas starts grey, as for CIFAR-10."""
SEEN, FEWEST_EPOCHS, MOST_EPOCHS = 160_000, 10, 400
"""Pictures seen in all of a run, as in that of mnist-5k-classify, within so many epochs."""


def own_pictures(name: str, facts: Facts) -> Experiment:
    """The recipe for the folder `name`: it classifies, or draws pictures without classes."""
    side = max(OWN_PICTURES.model.glimpse_height, min(facts.shape[1:]) // 4)
    heads = OWN_PICTURES.model.heads if facts.classes else DRAWN
    model = replace(OWN_PICTURES.model, heads=heads, glimpse_height=side, glimpse_width=side)
    epochs = min(max(SEEN // (facts.pictures or SEEN), FEWEST_EPOCHS), MOST_EPOCHS)
    whole = replace(OWN_PICTURES, model=model, training=replace(OWN_PICTURES.training, epochs=epochs))
    return fitted_to(replace(whole, data=replace(OWN_PICTURES.data, name=name)), facts)


def fitted_to(experiment: Experiment, facts: Facts) -> Experiment:
    """The experiment with the size, the channels and the number of classes of these pictures, and the cells of scenes.

    Where they have no classes, a model that also does something else does not classify.
    """
    heads = dict(experiment.model.heads)
    policy = experiment.model.policy
    if facts.cells:
        rows, columns = facts.cells
        asked = {"rows": rows, "columns": columns, "classes": len(facts.classes)}
        asking = {name: head for name, head in heads.items() if isinstance(head, QuestionConfig)}
        heads |= {name: replace(head, **asked) for name, head in asking.items()}
        policy = replace(policy, rows=rows, columns=columns) if policy.kind == "scan" else policy
    if isinstance(head := heads.get("classify"), ClassifyConfig) and facts.classes:
        heads["classify"] = replace(head, classes=len(facts.classes))
    elif not facts.classes and len(heads) > 1:
        heads.pop("classify", None)
    model = replace(experiment.model, image=ImageConfig(*facts.shape), heads=heads, policy=policy)
    if facts.shape[0] != experiment.model.image.channels:
        model = replace(model, picture_mean=(), picture_deviation=())
    return replace(experiment, model=model)


def check_size(config: ModelConfig) -> None:
    """Refuse pictures that are too small for the networks, before they are read."""
    try:
        with torch.device("meta"):
            build(config)
    except UsageError as failure:
        larger = "--model.image.height 28 --model.image.width 28 enlarges the pictures"
        raise UsageError(f"{failure}; {larger}, and --model.context.filters takes fewer layers") from failure


def told(experiment: Experiment) -> str:
    """What was taken from a data set, for people: 12 classes, 3 × 48 × 64 pixels, from PICTURES."""
    asked = [head for head in experiment.model.heads.values() if isinstance(head, QuestionConfig)]
    classes = experiment.model.classes or (asked[0].classes if asked else "no")
    cells = f" in {asked[0].rows} × {asked[0].columns} cells" if asked else ""
    shape = " × ".join(map(str, experiment.model.image.shape))
    return f"{classes} classes{cells}, {shape} pixels, from {experiment.data.name.removeprefix(FOLDER)}"
