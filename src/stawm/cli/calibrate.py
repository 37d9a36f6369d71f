"""`stawm calibrate`.

A classifier is surer than it should be, and names a class for any picture at all. After training, this finds two
things and writes them beside the weights (trust.safetensors): temperatures, by which its beliefs become the shares of
right answers; and what tells pictures like those it learnt from apart from others, so that `stawm look`, reports and
the page say "I don't recognise this" of a picture that is not one of its kind. Answers themselves do not change.

It uses pictures that the model learnt from, those that its run held out (--data.hold-out of `stawm train`), and
strange pictures that it makes by chance. The test pictures are not touched. A run that held nothing out needs others:
--data and --hold-out take the last training pictures of another set, without those that the model learnt from; --test
takes the test pictures, which then no longer test its beliefs.

Examples:
  stawm calibrate runs/mnist-sketchpad-seed0
  stawm calibrate runs/folder-seed0 --test
  stawm calibrate mnist-5k-sketchpad --data mnist --hold-out 5000
"""

from typing import Annotated

from stawm.cli.options import DataDir, Device, Model, flag
from stawm.errors import UsageError


def calibrate(
    model: Model,
    *,
    data: Annotated[str | None, flag("held-out pictures are those of this set", "NAME", "(the model's own)")] = None,
    hold_out: Annotated[int | None, flag("how many of its last training pictures", "N", "(as its run did)")] = None,
    test: Annotated[bool, flag("calibrate with the test pictures")] = False,
    seed: Annotated[int, flag("of the strange pictures")] = 0,
    data_dir: DataDir = None,
    device: Device = "auto",
) -> None:
    """Find how far the answers of a trained model can be believed, and keep it with its weights."""
    from stawm.data import load_data
    from stawm.data.data_set import learnt_from
    from stawm.data.image_set import hold_out as split_off
    from stawm.data.prepare.given import Given
    from stawm.experiments.check import check_pictures
    from stawm.model.stawm import Stawm
    from stawm.store.device import usable
    from stawm.store.trained import named_alike
    from stawm.store.weights import entrust, load_trained
    from stawm.trust.trust import calibrate as fitted
    from stawm.trust.trust import unseen

    _check(hold_out, test, seed)
    trained = load_trained(model)
    own, shape = trained.experiment.data, trained.experiment.model.image.shape
    count = 0 if test else own.hold_out if hold_out is None else hold_out
    if not isinstance(trained.model, Stawm):
        raise UsageError(f"{model} has no memory, so it cannot be calibrated; give a model of kind stawm")
    if not test and (count < 1 or (own.hold_out == 0 and data in (None, own.name))):
        raise UsageError(
            f"{model} learnt from all training pictures of {own.name}, and calibration needs others: give --test, or "
            "--data and --hold-out, or train it with --data.hold-out 500"
        )
    learnt, *_ = split_off(load_data(own.name, data_dir=data_dir, image=shape), own.hold_out)
    _, held_out, _ = split_off(load_data(data or own.name, data_dir=data_dir, image=shape), count)
    held_out, record = named_alike(unseen(held_out, learnt), trained.classes), learnt_from(own.name)
    check_pictures(held_out, trained.experiment.model)
    trust = fitted(
        trained.model.to(usable(device)),
        learnt,
        held_out,
        lambda picture: record.prepare(Given("", picture), shape).pixels,
        seed=seed,
    )
    print(f"calibrated with {len(held_out):,} held-out pictures of {held_out.name}")
    if trust.temperatures is not None:
        print(f"temperature after each glimpse: {', '.join(f'{each:.2f}' for each in trust.temperatures.tolist())}")
    print(entrust(model, trust))


def _check(hold_out: int | None, test: bool, seed: int) -> None:
    if hold_out is not None and hold_out < 1:
        raise UsageError(f"--hold-out takes a number of at least 1, not {hold_out}")
    if test and hold_out is not None:
        raise UsageError("--test takes the test pictures, and none that are held out; leave out one of the two")
    if seed < 0:
        raise UsageError(f"--seed takes a number of at least 0, not {seed}")
