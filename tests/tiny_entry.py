"""An entry of the ledger for tests, as `stawm record` would have written it."""

from dataclasses import replace
from typing import Any

from stawm.experiments.presets import preset
from stawm.ledger.entries import Control, Entry, Kind, Machine, Measurement, Pictures


def entry(
    name: str,
    kind: Kind = "result",
    preset_name: str = "mnist-classify-8",
    *,
    seed: int = 0,
    scores: dict[str, float] | None = None,
    error_after_glimpse: tuple[float, ...] = (0.5, 0.01),
    training: dict[str, Any] | None = None,
    epochs: int | None = None,
    controls: tuple[Control, ...] = (),
    **more: Any,
) -> Entry:
    base = preset(preset_name)
    if source := more.get("source"):
        training = {"start_from": f"runs/{source}", **(training or {})}
    experiment = replace(base, seed=seed, training=replace(base.training, **(training or {}))).plain()
    split = "test" if kind == "result" else "validation"
    return Entry(
        name=name,
        kind=kind,
        commits=("0" * 40,),
        epochs=experiment.training.epochs if epochs is None else epochs,
        seconds=7200.0,
        machine=Machine("A CPU", 2, 2, 1, "2.13.0", "3.11.7"),
        data=Pictures("mnist", "1" * 64, "2" * 64),
        chosen_by="the paper",
        measured=Measurement(split, 10_000, scores or {"error": 0.01}, error_after_glimpse),
        weights="3" * 64,
        experiment=experiment,
        controls=controls,
        **more,
    )
