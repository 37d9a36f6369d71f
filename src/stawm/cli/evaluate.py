"""`stawm evaluate`."""

import json
from dataclasses import asdict

from stawm.cli.parser import Parser
from stawm.cli.progress import percent

ABOUT = """\
Print the error of a trained model on the test pictures of its data set, and that of its answer after each glimpse; for
a model that draws, the mean squared error of its drawings, per pixel and channel.

--controls also asks where a classifier's answer comes from: each picture's query is put to the memory of another
picture, and a single query, the mean over all pictures, takes the place of each picture's own."""

EXAMPLES = """\
  stawm evaluate runs/mnist-5k-classify-seed0
  stawm evaluate runs/mnist-5k-classify-seed0 --controls
  stawm evaluate runs/mnist-5k-classify-seed0/weights --data mnist --json"""


def run(arguments: list[str]) -> int:
    """Evaluate as `arguments` say."""
    parser = Parser("evaluate", ABOUT, EXAMPLES)
    parser.add_argument("model", metavar="RUN_OR_WEIGHTS", help="a run folder, a folder of weights, or a name")
    parser.add_argument("--data", metavar="NAME", help="measure on this data set (the one of the experiment)")
    parser.add_argument(
        "--controls", action="store_true", help="also with memories exchanged and with one query for all"
    )
    parser.takes_data_dir()
    parser.takes_device()
    parser.takes_json("one JSON object")
    given = parser.parse_args(arguments)

    from stawm.measure.controls import controls
    from stawm.measure.evaluate import evaluate
    from stawm.store.trained import open_trained

    trained, pictures = open_trained(given.model, given.data, given.data_dir, given.device)
    found = evaluate(trained.model, pictures, config=trained.experiment.model)
    controlled = controls(trained.model, pictures) if given.controls else ()
    if given.json:
        found |= {"controls": [asdict(control) for control in controlled]} if given.controls else {}
        named = {"model": given.model, "experiment": trained.experiment.name, "data": pictures.name, "split": "test"}
        print(json.dumps(named | found))
        return 0
    after = found["error_after_glimpse"]
    print(f"{trained.experiment.name} on {found['count']:,} test pictures of {pictures.name}")
    scores = found["scores"]
    if "error" in scores:
        print(f"error              {percent(scores['error']):>8}")
    if "mse" in scores:
        print(f"mean squared error {scores['mse']:8.5f}")
    for glimpse, error in enumerate(after, 1):
        print(f"after glimpse {glimpse:<4} {percent(error):>8}")
    for control in controlled:
        print(f"memory {control.memory}, query {control.query}")
        print(f"  error {percent(control.error)}, of the class in memory {percent(1 - control.follows_memory)}")
        print(f"  after each glimpse {', '.join(percent(error) for error in control.error_after_glimpse)}")
    return 0
