"""`stawm evaluate`.

Prints the error on the test pictures of its data set, and that of its answer after each glimpse; for a model that
draws, the mean squared error of its drawings, per pixel and channel. The calibration error of a classifier is how far
its confidence is from the share of right answers, in 15 bins; `stawm calibrate` makes it small.

--controls also asks where a classifier's answer comes from: each picture's query is put to the memory of another
picture, and a single query, the mean over all pictures, takes the place of each picture's own. Of questions after
looking likewise: asked of another scene's memory, with the query of another question, with the mean query, of a memory
that was written in another order, and of one in which nothing was written. Of a classifier that learnt where to look
also: glimpses at random places, at the centre, glimpses that see nothing, and a memory in which nothing was written.

--until tells how many glimpses it takes on average until a class is believed so much, and the error if no further one
is taken; beside it the same of other beliefs. All glimpses are computed here, and those that would be taken are
counted; `stawm look --until` takes no further ones.

Examples:
  stawm evaluate runs/mnist-5k-classify-seed0
  stawm evaluate runs/mnist-5k-classify-seed0 --controls
  stawm evaluate runs/mnist-5k-classify-seed0 --until 0.99
  stawm evaluate runs/mnist-5k-classify-seed0/weights --data mnist --json
"""

from collections.abc import Sequence
from dataclasses import asdict
from json import dumps
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from stawm.cli.options import Computed, DataDir, Device, Json, Model, flag

if TYPE_CHECKING:
    from stawm.measure.controls import Control
    from stawm.measure.gaze_controls import GazeControl
    from stawm.measure.question_controls import QuestionControl


def evaluate(
    model: Model,
    *,
    data: Annotated[str | None, flag("measure on this data set", "NAME", "(the one of the experiment)")] = None,
    controls: Annotated[bool, arg(help="also with memories exchanged and with one query for all")] = False,
    until: Annotated[float | None, flag("also when looking ends at this belief", "BELIEF")] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    precision: Computed = "32",
    json: Json = False,
) -> None:
    """Measure a trained model on held-out pictures, after every glimpse."""
    from stawm.measure.evaluate import evaluate as measure
    from stawm.measure.gaze_controls import gaze_controls, learns_to_look
    from stawm.measure.question_controls import all_controls
    from stawm.measure.stopping import THRESHOLDS, check_until
    from stawm.model.heads.head import known_scores
    from stawm.store.trained import open_trained

    trained, pictures = open_trained(model, data, data_dir, device)
    options = {"config": trained.experiment.model, "trust": trained.trust, "precision": precision}
    thresholds = () if until is None else sorted({check_until(until), *THRESHOLDS})
    found = measure(trained.model, pictures, until=thresholds, **options)
    controlled, asked = all_controls(trained.model, pictures) if controls else ((), ())
    gazes = gaze_controls(trained.model, pictures) if controls and learns_to_look(trained.model) else ()
    if json:
        found |= {"controls": [asdict(control) for control in controlled]} if controls else {}
        found |= {"question_controls": [asdict(control) for control in asked]} if asked else {}
        found |= {"gaze_controls": [asdict(control) for control in gazes]} if gazes else {}
        named = {"model": model, "experiment": trained.experiment.name, "data": pictures.name, "split": "test"}
        print(dumps(named | found))
        return
    scores = known_scores()
    error = scores["error"].told
    print(f"{trained.experiment.name} on {found['count']:,} test pictures of {pictures.name}")
    for name, value in found["scores"].items():
        if name in scores:
            print(f"{scores[name].title:18} {scores[name].told(value):>8}")
    for glimpse, value in enumerate(found["error_after_glimpse"], 1):
        print(f"after glimpse {glimpse:<4} {error(value):>8}")
    for kind, value in found.get("calibration", {}).items():
        print(f"calibration error  {100 * value:.2f} %{' with temperature' * (kind == 'calibrated')}")
    for row in found.get("stopping", ()):
        print(f"until {row['until']:<6g} glimpses {row['glimpses']:.2f}, error {error(row['error'])}")
    _print_controls(controlled, asked, gazes)


def _print_controls(
    controlled: "Sequence[Control]", asked: "Sequence[QuestionControl]", gazes: "Sequence[GazeControl]"
) -> None:
    from stawm.model.heads.head import known_scores

    scores = known_scores()
    error = scores["error"].told
    for control in gazes:
        print(f"glimpses {control.places}, memory {control.memory}")
        print(f"  error {error(control.error)}, spread of glimpses {control.spread:.1%} of the picture's side")
        print(f"  after each glimpse {', '.join(map(error, control.error_after_glimpse))}")
    for control in controlled:
        print(f"memory {control.memory}, query {control.query}")
        print(f"  error {error(control.error)}, of the class in memory {error(1 - control.follows_memory)}")
        print(f"  after each glimpse {', '.join(map(error, control.error_after_glimpse))}")
    for control in asked:
        told = scores[control.score].told if control.score in scores else error
        follows = "" if control.follows is None else f", about what was put {told(1 - control.follows)}"
        print(f"{control.score}: memory {control.memory}, query {control.query}")
        print(f"  error {told(control.error)}{follows}, by chance {told(control.chance)}")
