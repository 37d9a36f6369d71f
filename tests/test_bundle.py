import json
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources import files

import pytest

from stawm.page.bundle import BundleError, Read, bundle, script_of

PAGE = """\
<head>
  <link rel="icon" href="icon.svg">
  <link rel="stylesheet" href="a.css">
  <link rel="stylesheet" href="b.css">
  <script type="module" src="main.js"></script>
</head>
"""
FILES = {
    "page.html": PAGE,
    "icon.svg": "<svg/>",
    "a.css": "a {}\n",
    "b.css": "b {}\n",
    "main.js": 'import { one, two as second } from "./x.js";\nimport {\n  Three,\n} from "./y.js";\nconst own = 1;\n'
    "console.log(JSON.stringify([own, one(), second, new Three().value]));\n",
    "x.js": 'import { Three } from "./y.js";\nconst own = 2;\n'
    "export function one() {\n  return own + new Three().value;\n}\nexport const two = 20;\n",
    "y.js": "const own = 3;\nexport class Three {\n  value = own;\n}\n",
}


def reading(changed: Mapping[str, str | None] | None = None) -> Read:
    texts = FILES | dict(changed or {})

    def read(name: str) -> str:
        text = texts.get(name)
        if text is None:
            raise FileNotFoundError(name)
        return text

    return read


def ran(script: str) -> list[int]:
    """What a script prints, run by node where that is installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run a script with")
    return json.loads(subprocess.run([node, "-e", script], check=True, capture_output=True, text=True).stdout)


def test_each_module_comes_after_those_that_it_imports_and_once():
    script = script_of("main.js", reading())
    places = [script.index(f"const module_{name} = ") for name in ("y", "x")]
    assert places == sorted(places)
    assert script.count("class Three") == 1
    assert script.index("class Three") < script.index("console.log")
    assert not [line for line in script.splitlines() if line.startswith(("import", "export"))]


def test_a_script_does_what_its_modules_did_though_their_names_clash():
    assert ran(script_of("main.js", reading())) == [1, 5, 20, 3]


def test_a_new_module_needs_no_list():
    changed = {"y.js": 'import { own } from "./new.js";\nexport class Three {\n  value = own;\n}\n'}
    script = script_of("main.js", reading(changed | {"new.js": "export const own = 40;\n"}))
    assert "module_new = " in script
    assert ran(script) == [1, 42, 20, 40]


def test_a_page_holds_what_it_links():
    made = bundle("page.html", reading())
    assert made.style == "a {}\nb {}\n"
    assert "main.js" not in made.page
    assert "a.css" not in made.page
    assert made.page.count("{style}") == made.page.count("{script}") == 1
    assert 'href="data:image/svg+xml;base64,PHN2Zy8+"' in made.page


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"y.js": None}, ["y.js", "x.js"]),
        ({"b.css": None}, ["b.css", "page.html"]),
        ({"y.js": 'import { one } from "./x.js";\nexport class Three {}\n'}, ["x.js → y.js → x.js"]),
        ({"y.js": "export default class Three {}\n"}, ["y.js", "export default"]),
        ({"y.js": 'export { Three } from "./z.js";\n'}, ["y.js", "export {"]),
        ({"x.js": 'import * as y from "./y.js";\n'}, ["x.js", "import *"]),
        ({"x.js": 'import "./y.js";\n'}, ["x.js", "import"]),
        ({"x.js": 'import { Three } from "three";\n'}, ["x.js", "three"]),
        ({"main.js": 'const text = "</script>";\n'}, ["</script"]),
        ({"a.css": "/* </STYLE> */\n"}, ["</style"]),
        ({"page.html": "<head></head>"}, ["page.html", "0 module scripts"]),
    ],
)
def test_what_cannot_be_bundled_is_named(changed: dict[str, str | None], words: list[str]):
    with pytest.raises(BundleError) as failure:
        bundle("page.html", reading(changed))
    assert all(word in str(failure.value) for word in words)


def test_the_page_of_the_server_could_be_bundled_too():
    home = files("stawm.page").joinpath("static")
    script = script_of("page.js", lambda name: home.joinpath(name).read_text(encoding="utf-8"))
    assert "class Player" in script
    assert "class Pad" in script
