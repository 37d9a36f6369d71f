import base64
import hashlib
import json
import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sample_looks import HOSTILE, look
from stawm.errors import StorageError
from stawm.page.report import open_report


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def looks(self) -> list[tuple[dict[str, str | None], dict]]:
        found = zip(self.tags, self.texts, strict=True)
        return [(tag[1], json.loads(text)) for tag, text in found if tag[1].get("type") == "application/json"]

    def text_of(self, tag: str, **attributes: str) -> str:
        (found,) = [
            text
            for (name, has), text in zip(self.tags, self.texts, strict=True)
            if name == tag and all(has.get(key) == value for key, value in attributes.items())
        ]
        return found


def written(path: Path, *looks: dict, title: str = "Two pictures", model: str = "mnist-5k-sketchpad") -> str:
    with open_report(path, title=title, model=model) as report:
        for one in looks:
            report.add(one)
    return path.read_text(encoding="utf-8")


def test_every_look_comes_back_as_it_was_given(tmp_path: Path) -> None:
    given = [look("3.png", memory=True), look("face.png", prediction=None, size=(40, 24)), look("7.png", draws=False)]
    stored = Tags(written(tmp_path / "report.html", *given)).looks()
    assert [payload for _, payload in stored] == given
    assert [tag.get("data-name") for tag, _ in stored] == ["3.png", "face.png", "7.png"]
    assert [tag.get("data-prediction") for tag, _ in stored] == ["3", None, "3"]


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    clean = Tags(written(tmp_path / "clean.html", look()))
    hostile = Tags(written(tmp_path / "hostile.html", look(HOSTILE), title=HOSTILE, model=HOSTILE))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in clean.tags]
    ((tag, payload),) = hostile.looks()
    assert (tag["data-name"], payload["name"]) == (HOSTILE, HOSTILE)


def test_a_name_that_is_not_unicode_does_not_stop_a_report(tmp_path: Path) -> None:
    ((tag, payload),) = Tags(written(tmp_path / "report.html", look("\udcff.png"))).looks()
    assert tag["data-name"] == "?.png"
    assert payload["name"] == "\udcff.png"


def test_placeholders_in_words_are_left_alone(tmp_path: Path) -> None:
    page = Tags(written(tmp_path / "report.html", look(), title="{script} {looks}"))
    assert page.text_of("title") == "{script} {looks}"


def test_the_policy_allows_this_script_and_style_and_nothing_else(tmp_path: Path) -> None:
    page = Tags(written(tmp_path / "report.html", look()))
    (policy,) = [has["content"] for tag, has in page.tags if has.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in (policy or "").split("; "))
    for kind, text in {"script-src": page.text_of("script", type="module"), "style-src": page.text_of("style")}.items():
        assert rules[kind] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert (rules["default-src"], rules["img-src"]) == ("'none'", "data:")


def test_modules_become_one_script(tmp_path: Path) -> None:
    script = Tags(written(tmp_path / "report.html", look())).text_of("script", type="module")
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert all(f"class {name} " in script for name in ("Player", "MemoryView", "Belief", "Stage"))


def test_a_report_names_no_other_place(tmp_path: Path) -> None:
    text = written(tmp_path / "report.html", look())
    places = set(re.findall(r"\w+://[^\s\"'`)]+", text))
    assert places == {"http://www.w3.org/2000/svg"}


def test_a_report_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    before = written(path, look())
    with pytest.raises(RuntimeError, match="stopped"), open_report(path, title="new", model="m") as report:
        report.add(look())
        raise RuntimeError("stopped")
    assert path.read_text(encoding="utf-8") == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StorageError, match="could not write"),
        open_report(tmp_path / "file" / "report.html", title="t", model="m"),
    ):
        pass


def test_looks_go_to_disk_as_they_come(tmp_path: Path) -> None:
    one = look(memory=True)
    size = len(json.dumps(one))
    tracemalloc.start()
    with open_report(tmp_path / "report.html", title="t", model="m") as report:
        for _ in range(400):
            report.add(one)
        _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.count == 400
    assert (tmp_path / "report.html").stat().st_size > 350 * size
    assert most < 40 * size + 500_000
