import shutil
from pathlib import Path

from stawm.serve.models import open_lookers
from stawm.store.weights import export
from tiny_server import looker


def test_models_are_called_as_they_were_given(tmp_path: Path):
    own = looker()
    run = export(own.model, own.experiment, tmp_path / "a run" / "weights").parent
    twin = shutil.copytree(run, tmp_path / "elsewhere" / "a run")
    alone = export(own.model, own.experiment, tmp_path / "mine")
    named = [one.name for one in open_lookers([str(run), str(run / "weights"), str(twin), str(alone), "scenes-4-ask"])]
    assert named == ["a run", "a run-2", "a run-3", "mine", "scenes-4-ask"]
