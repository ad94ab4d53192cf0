"""From matplotlib's SVG to one that can be part of a page under a strict policy."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from results.figures.style import INK, printable

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#(.+)\)")
_PATHS_SPACE = re.compile(r"\s+")


def for_pages(drawing: bytes, name: str, title: str, description: str) -> bytes:
    """The drawing as an `<svg>` element that holds nothing a page must not: no style, no id that another has.

    Styles become attributes, black becomes the colour of the text around it, fonts are the reader's own. Ids begin with
    the figure's name; those that nothing refers to go.
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
    ElementTree.register_namespace("xlink", _XLINK)
    written: bytes = ElementTree.tostring(root, encoding="utf-8")
    return written + b"\n"


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
    if "id" in element.attrib:
        if element.tag in (f"{{{_SVG}}}path", f"{{{_SVG}}}clipPath"):
            element.set("id", f"{name}-{element.get('id')}")
        else:
            del element.attrib["id"]
    if "d" in element.attrib:
        element.set("d", _PATHS_SPACE.sub(" ", element.attrib["d"]).strip())
    if "clip-path" in element.attrib:
        element.set("clip-path", _REFERENCE.sub(rf"url(#{name}-\1)", element.attrib["clip-path"]))
    link = f"{{{_XLINK}}}href"
    if link in element.attrib:
        element.set(link, f"#{name}-{element.attrib[link].removeprefix('#')}")
