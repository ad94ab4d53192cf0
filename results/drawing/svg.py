"""From matplotlib's SVG to one that can be part of a page under a strict policy."""

from __future__ import annotations

import re
from itertools import groupby
from xml.etree import ElementTree

from results.drawing.style import INK, printable

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#(.+)\)")
_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
# Decimals: a tenth of a point is less than can be seen, but marks keep their shape by hundredths.
_PLACES = {"x": 1, "y": 1, "width": 1, "height": 1, "viewBox": 1, "transform": 1, "opacity": 2, "stroke-opacity": 2}
# What a group hands on to what is in it, so that it need not be said of each; the clip is of all of it.
_SHARED = (
    "clip-path", "fill", "stroke", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width",
    "text-anchor",
)  # fmt: skip


def for_pages(drawing: bytes, name: str, title: str, description: str) -> bytes:
    """The drawing as an `<svg>` element that holds nothing a page must not: no style, no id that another has.

    Styles become attributes, black becomes the colour of the text around it, fonts are the reader's own. Ids begin with
    letters of the figure's name; those that nothing refers to go. Positions are in tenths of a point, texts come after
    shapes, and what neighbours have in common is said once: a page has many drawings.
    """
    root = ElementTree.fromstring(drawing)  # noqa: S314 - our own drawing, where names are escaped
    for child in list(root):
        if child.tag == f"{{{_SVG}}}metadata" or child.find(f"{{{_SVG}}}style") is not None:
            root.remove(child)
    for element in root.iter():
        _attributes(element, name)
        element.tail = None
        if element.tag != f"{{{_SVG}}}text":
            element.text = None
    _slim(root, name)
    root.attrib |= {
        "role": "img", "aria-labelledby": f"{name}-title {name}-text", "class": "figure",
        "fill": "currentColor", "stroke-linejoin": "round", "font-family": "sans-serif",
    }  # fmt: skip
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        caption = ElementTree.Element(f"{{{_SVG}}}{tag}", id=f"{name}-{'title' if tag == 'title' else 'text'}")
        caption.text = printable(text)
        root.insert(place, caption)
    # The prefixes are one table for all of the process, which other libraries write to (qrcode: "svg").
    ElementTree.register_namespace("", _SVG)
    written: bytes = ElementTree.tostring(root, encoding="utf-8")
    return written.replace(b" />", b"/>") + b"\n"


def _attributes(element: ElementTree.Element, name: str) -> None:
    declarations = element.attrib.pop("style", "")
    for declaration in filter(None, (part.strip() for part in declarations.split(";"))):
        key, _, value = declaration.partition(":")
        if key != "font-family":
            element.set(key, value.strip())
    for key in ("fill", "stroke"):
        if element.get(key) == INK:
            element.set(key, "currentColor")
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if "id" in element.attrib and element.tag not in (f"{{{_SVG}}}path", f"{{{_SVG}}}clipPath"):
        del element.attrib["id"]
    for key, places in _PLACES.items():
        if key in element.attrib:
            element.set(key, _rounded(element.attrib[key], places))
    if "d" in element.attrib:
        element.set("d", _path(element.attrib["d"], 2 if "id" in element.attrib else 1))


def _rounded(numbers: str, places: int) -> str:
    """The same numbers to so many decimals."""
    return _NUMBER.sub(lambda match: f"{round(float(match[0]), places) + 0:g}", numbers)


def _path(steps: str, places: int) -> str:
    """The same path to so many decimals, with lines across and up as such."""
    written, here = [], ["", ""]
    for command, values in _STEP.findall(steps):
        numbers = _rounded(values, places).split()
        if command == "L" and numbers[0] == here[0]:
            written.append(_line("V", numbers[1], here[1], places))
        elif command == "L" and numbers[1] == here[1]:
            written.append(_line("H", numbers[0], here[0], places))
        else:
            written.append(command + " ".join(numbers))
        here = numbers[-2:] or here
    return "".join(written)


def _line(command: str, to: str, here: str, places: int) -> str:
    """A line along an axis, as the shorter of its end and its length."""
    length = f"{round(float(to) - float(here), places) + 0:g}"
    return min(command + to, command.lower() + length, key=len)


def _slim(root: ElementTree.Element, name: str) -> None:
    """Leave out what shows nothing and what is said twice, and give short ids."""
    _flatten(root)
    shapes = {element.get("id"): element for element in root.iter() if "id" in element.attrib}
    prefix = "".join(part[:2] for part in name.split("-"))
    numbers = {key: f"{prefix}-{number}" for number, key in enumerate(shapes)}
    for shape in shapes.values():
        shape.set("id", numbers[shape.get("id")])
    link = f"{{{_XLINK}}}href"
    for element in root.iter():
        if link in element.attrib:
            key = element.attrib.pop(link).removeprefix("#")
            for attribute in set(shapes[key].attrib).intersection(_SHARED):
                element.attrib.pop(attribute, None)  # the shape's own counts
            element.set("href", f"#{numbers[key]}")
        if "clip-path" in element.attrib:
            match = _REFERENCE.fullmatch(element.attrib["clip-path"])
            assert match is not None
            element.set("clip-path", f"url(#{numbers[match[1]]})")
    _say_once(root, "font-size", "")
    _say_once(root, "text-anchor", "start")
    _texts_last(root)
    _group(root)
    _join(root)


def _flatten(root: ElementTree.Element) -> None:
    """Take apart groups, give their clip to what is in them, gather definitions at the front, drop what is unseen."""
    definitions = ElementTree.Element(f"{{{_SVG}}}defs")

    def parts(of: ElementTree.Element) -> list[ElementTree.Element]:
        flat = []
        for child in of:
            if child.tag == f"{{{_SVG}}}defs":
                definitions.extend(child)
            elif child.tag == f"{{{_SVG}}}g":
                inner = parts(child)
                for part in inner:
                    assert not set(child.attrib).intersection(part.attrib), "a group in a group of its kind"
                    part.attrib |= child.attrib
                flat += inner
            elif child.get("fill") != "none" or "stroke" in child.attrib:
                flat.append(child)
        return flat

    drawn = parts(root)
    for child in list(root):
        root.remove(child)
    root.extend([definitions, *drawn] if len(definitions) else drawn)


def _say_once(root: ElementTree.Element, key: str, usual: str) -> None:
    """Say of the whole drawing what most of its texts have, which is `usual` where one does not say."""
    texts = list(root.iter(f"{{{_SVG}}}text"))
    values = [text.attrib.pop(key, usual) for text in texts]
    most = max(sorted(set(values)), key=values.count, default=usual)
    if most != usual:
        root.set(key, most)
    for text, value in zip(texts, values, strict=True):
        if value != most:
            text.set(key, value)


def _texts_last(root: ElementTree.Element) -> None:
    """Put texts after shapes, which no shape covers, so that neighbours have more in common."""
    children = list(root)
    for child in children:
        root.remove(child)
    root.extend(sorted(children, key=lambda child: child.tag == f"{{{_SVG}}}text"))


def _join(parent: ElementTree.Element) -> None:
    """Make one path of neighbouring paths that differ in nothing else."""
    last: ElementTree.Element | None = None
    for child in list(parent):
        is_plain = child.tag == f"{{{_SVG}}}path" and "id" not in child.attrib
        if is_plain and last is not None and _but_steps(child) == _but_steps(last):
            last.set("d", last.attrib["d"] + child.attrib["d"])
            parent.remove(child)
            continue
        last = child if is_plain else None
        if child.tag == f"{{{_SVG}}}g":
            _join(child)


def _but_steps(path: ElementTree.Element) -> dict[str, str]:
    return {key: value for key, value in path.attrib.items() if key != "d"}


def _group(root: ElementTree.Element) -> None:
    """Put neighbours that share how they are drawn into a group that says it."""
    children = list(root)
    for child in children:
        root.remove(child)
    for shared, members in groupby(children, lambda child: tuple((key, child.get(key)) for key in _SHARED)):
        alike, style = list(members), {key: value for key, value in shared if value is not None}
        # The clip of a <use> would be moved with it, and cut all of it away: it is that of a group, even around one.
        is_moved = alike[0].tag == f"{{{_SVG}}}use" and "clip-path" in style
        if (len(alike) == 1 and not is_moved) or not style:
            root.extend(alike)
            continue
        group = ElementTree.SubElement(root, f"{{{_SVG}}}g", style)
        for child in alike:
            for key in style:
                del child.attrib[key]
            group.append(child)
