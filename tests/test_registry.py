"""Things by name: found when first asked for, added from outside, refused with the nearest name."""

import sys
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from stawm import registry as module
from stawm.errors import UsageError
from stawm.registry import Registry


def named() -> Registry[object]:
    return Registry("fruit", home="json", group="stawm.fruits")


def test_what_is_added_is_found_and_listed():
    fruits = named()
    assert fruits.add("apple", "red") == "red"
    assert fruits["apple"] == "red"
    assert "apple" in fruits
    assert list(fruits) == ["apple"]
    assert len(fruits) == 1


def test_constants_of_a_kind_are_entered_under_their_names(monkeypatch: pytest.MonkeyPatch):
    import json.scanner

    apple = SimpleNamespace(name="apple")
    monkeypatch.setattr(json.scanner, "APPLE", apple, raising=False)
    assert dict(Registry("fruit", home="json", group="stawm.fruits", kind=SimpleNamespace)) == {"apple": apple}
    assert dict(named()) == {}


def test_a_class_is_added_as_it_is_defined_and_may_be_defined_again():
    fruits = named()
    for _ in range(2):

        @fruits.add("pear")
        class Pear: ...

        assert fruits["pear"] is Pear


def test_a_taken_name_is_refused_to_another_thing():
    fruits = named()
    fruits.add("apple", "red")
    with pytest.raises(UsageError, match="apple"):
        fruits.add("apple", "green")
    assert fruits["apple"] == "red"


def test_names_beside_the_entered_ones_are_offered_and_taken():
    fruits = Registry("fruit", home="json", group="stawm.fruits", beside=("tomato",))
    fruits.add("apple", "red")
    with pytest.raises(UsageError, match="known are tomato, apple"):
        fruits["kiwi"]
    with pytest.raises(UsageError, match=r"did you mean tomato\?"):
        fruits["tomatoe"]
    with pytest.raises(UsageError, match="already"):
        fruits.add("tomato", "red")
    assert list(fruits) == ["apple"] and "tomato" not in fruits


def test_an_unknown_name_gets_the_nearest():
    fruits = named()
    fruits.add("apple", "red")
    with pytest.raises(UsageError, match=r"fruit 'aple'.* apple\?"):
        fruits["aple"]


def test_get_gives_the_default_for_an_unknown_name():
    fruits = named()
    fruits.add("apple", "red")
    assert (fruits.get("apple"), fruits.get("pear"), fruits.get("pear", "green")) == ("red", None, "green")


def test_a_thread_that_asks_while_another_imports_waits_for_everything(monkeypatch: pytest.MonkeyPatch):
    fruits, begun, go_on = named(), Event(), Event()

    def slow(group: str) -> list[EntryPoint]:
        assert list(fruits) == [], "what is being imported may ask without end or deadlock"
        begun.set()
        assert go_on.wait(10)
        return [EntryPoint(name="dumps", value="json:dumps", group=group)]

    monkeypatch.setattr(module, "entry_points", slow)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(list, fruits)
        assert begun.wait(10)
        second = threads.submit(list, fruits)
        assert not wait([second], timeout=0.1).done
        go_on.set()
        assert first.result(10) == second.result(10) == ["dumps"]


def test_an_import_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    fruits, points = named(), []
    monkeypatch.setattr(module, "entry_points", lambda group: [points.pop()])
    with pytest.raises(IndexError):
        list(fruits)
    points.append(EntryPoint(name="dumps", value="json:dumps", group="stawm.fruits"))
    assert list(fruits) == ["dumps"]


@pytest.mark.parametrize("value", ["json:nothing", "no.such.module:thing", "this:is:none"])
def test_a_broken_entry_point_is_named_and_the_others_work(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    values = {"broken": value, "dumps": "json:dumps"}
    points = [EntryPoint(name=name, value=one, group="stawm.fruits") for name, one in values.items()]
    monkeypatch.setattr(module, "entry_points", lambda group: points)
    fruits = named()
    assert list(fruits) == ["dumps"]
    [record] = caplog.records
    with pytest.raises(UsageError, match="broken") as error:
        fruits["broken"]
    for told in (record.getMessage(), str(error.value)):
        assert value in told and "\n" not in told


def test_a_package_that_asks_while_it_is_imported_is_found_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    fruits = named()
    fruits.add("apple", "red")
    monkeypatch.setattr(sys.modules["json"], "fruits", fruits, raising=False)
    (tmp_path / "orchard").mkdir()
    (tmp_path / "orchard" / "__init__.py").touch()
    (tmp_path / "orchard" / "pears.py").write_text("import json\nPEAR = json.fruits['apple'] + ' and green'\n")
    (tmp_path / "orchard" / "plums.py").write_text("from orchard.pears import PEAR\nPLUM = PEAR + ' and blue'\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = {"pear": "orchard.pears:PEAR", "plum": "orchard.plums:PLUM"}
    points = [EntryPoint(name=name, value=one, group="stawm.fruits") for name, one in values.items()]
    monkeypatch.setattr(module, "entry_points", lambda group: points)
    try:
        import_module("orchard.plums")
        assert dict(fruits) == {"apple": "red", "pear": "red and green", "plum": "red and green and blue"}
        assert not caplog.records
    finally:
        for name in ("orchard", "orchard.pears", "orchard.plums"):
            sys.modules.pop(name, None)


def test_other_packages_add_by_entry_point(monkeypatch: pytest.MonkeyPatch):
    point = EntryPoint(name="dumps", value="json:dumps", group="stawm.fruits")
    monkeypatch.setattr(module, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    import json

    assert named()["dumps"] is json.dumps


def test_modules_of_the_home_are_imported_when_first_asked():
    sys.modules.pop("wsgiref.validate", None)
    assert list(Registry("server", home="wsgiref", group="stawm.none")) == []
    assert "wsgiref.validate" in sys.modules
