"""`stawm evaluate`."""

import json

from stawm.cli.parser import Parser
from stawm.cli.progress import percent

ABOUT = """\
Print the error of a trained model on the test pictures of its data set, and that of its answer after each glimpse; for
a model that draws, the mean squared error of its drawings, per pixel and channel."""

EXAMPLES = """\
  stawm evaluate runs/mnist-5k-classify-seed0
  stawm evaluate runs/mnist-5k-classify-seed0/weights --data mnist --json"""


def run(arguments: list[str]) -> int:
    """Evaluate as `arguments` say."""
    parser = Parser("evaluate", ABOUT, EXAMPLES)
    parser.add_argument("model", metavar="RUN_OR_WEIGHTS", help="a run folder, a folder of weights, or a name")
    parser.add_argument("--data", metavar="NAME", help="measure on this data set (the one of the experiment)")
    parser.takes_data_dir()
    parser.takes_device()
    parser.takes_json("one JSON object")
    given = parser.parse_args(arguments)

    from stawm.cli.trained import open_trained
    from stawm.training.evaluate import evaluate

    trained, pictures = open_trained(given.model, given.data, given.data_dir, given.device)
    found = evaluate(trained.model, pictures, config=trained.experiment.model)
    if given.json:
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
    return 0
