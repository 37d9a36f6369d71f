"""A page of several files as one: the modules that its script imports, the style sheets and the icon that it links.

Each module becomes a function of its own that gives what it exports, so their names cannot clash. Imports and exports
are understood as they are written here, at the start of a line: `import { a, b as c } from "./x.js";` and `export`
before a class, a function or a constant. Anything else is refused by name, never passed on.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.-]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
STYLE = re.compile(r'^ *<link rel="stylesheet" href="([^"]+)">\n', re.MULTILINE)
SCRIPT = re.compile(r'^ *<script type="module" src="([^"]+)"></script>\n', re.MULTILINE)
ICON = re.compile(r'(?<=<link rel="icon" href=")[^"]+\.svg(?=">)')

PLACES = '  <style>{style}</style>\n  <script type="module">{script}</script>\n'

Read = Callable[[str], str]
"""The text of a file by its name."""


class BundleError(ValueError):
    """Files that cannot be made into one, and why."""


@dataclass(frozen=True)
class Bundle:
    """A page with the places {style} and {script}, and what belongs there."""

    page: str
    style: str
    script: str


def bundle(name: str, read: Read) -> Bundle:
    """The page of that name with all that it needs."""
    page = _text(name, read, name)
    scripts, styles = SCRIPT.findall(page), STYLE.findall(page)
    if len(scripts) != 1:
        raise BundleError(f"{name} has {len(scripts)} module scripts; one is wanted")
    style = "".join(_text(sheet, read, name) for sheet in styles)
    script = script_of(scripts[0], read)
    for text, end in ((style, "</style"), (script, "</script")):
        if end in text.lower():
            raise BundleError(f"what {name} needs holds {end}, which would end it too early")

    def icon(found: re.Match[str]) -> str:
        return f"data:image/svg+xml;base64,{base64.b64encode(_text(found[0], read, name).encode()).decode()}"

    return Bundle(ICON.sub(icon, SCRIPT.sub(PLACES, STYLE.sub("", page))), style, script)


def script_of(entry: str, read: Read) -> str:
    """One script of the module `entry` and of all that it imports, each after those that it needs itself."""
    texts: dict[str, str] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise BundleError(f"modules import each other: {' → '.join((*above[above.index(name) :], name))}")
        if name in texts:
            return
        text = _text(name, read, above[-1] if above else entry)
        for _, needed in IMPORT.findall(text):
            visit(needed, (*above, name))
        texts[name] = text

    visit(entry, ())
    return "".join(_module(name, text, wrapped=name != entry) for name, text in texts.items())


def _module(name: str, text: str, *, wrapped: bool) -> str:
    """A module without imports and exports; wrapped, it is a constant that holds what it exports."""
    exports = EXPORT.findall(text)
    plain = EXPORT.sub("", IMPORT.sub(_taken, text))
    if odd := OTHER.search(plain):
        raise BundleError(f"{name} has {odd[0]!r}, which cannot be bundled; see the top of bundle.py for what can")
    if not wrapped:
        return plain
    return f"const {_constant(name)} = (() => {{\n{plain}return {{ {', '.join(exports)} }};\n}})();\n"


def _taken(found: re.Match[str]) -> str:
    names = [" ".join(name.split()).replace(" as ", ": ") for name in found[1].split(",") if name.strip()]
    return f"const {{ {', '.join(names)} }} = {_constant(found[2])};\n"


def _constant(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _text(name: str, read: Read, needed_by: str) -> str:
    try:
        return read(name)
    except OSError as failure:
        raise BundleError(f"there is no {name}, which {needed_by} needs") from failure
