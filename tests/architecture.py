"""The diagram of the packages, drawn from the code: `make architecture`.

The order of the packages is that of the contract in pyproject.toml, their descriptions are their docstrings, and who
imports whom is what import-linter sees. A test compares the stored picture with the code.
"""

import ast
import sys
import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from textwrap import wrap

import grimp

REPOSITORY = Path(__file__).parent.parent
PICTURE = REPOSITORY / "docs" / "images" / "architecture.svg"
ALONE = "marketplace"
LEFT, WIDTH, HEIGHT, GAP = 100, 650, 64, 18
SIDE = 15  # between an arrow that passes packages by and the next one
STYLE = """
  rect { fill: #fbfaf6; stroke: #17807a; stroke-width: 1.5 }
  .alone { stroke: #b06a00 }
  text { font: 13px "DejaVu Sans", Verdana, sans-serif; fill: #1b1b1b }
  .name { font-weight: bold; font-size: 15px }
  .uses { font-size: 12px; fill: #555 }
  path { fill: none; stroke: #17807a; stroke-width: 1.5 }
  .http { stroke: #b06a00; stroke-dasharray: 5 4 }
  marker path { fill: #17807a; stroke: none }
  marker.orange path { fill: #b06a00 }
"""


def layers() -> list[str]:
    """The packages in the order of the contract, the top first."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(list(map(str, each["layers"])) for each in contracts if each["type"] == "layers")


def imports(packages: list[str]) -> dict[str, set[str]]:
    """Which other packages the modules of each package import."""
    graph = grimp.build_graph(*packages)
    found: dict[str, set[str]] = {package: set() for package in packages}
    for package in packages:
        for module in [package, *graph.find_descendants(package)]:
            roots = {imported.partition(".")[0] for imported in graph.find_modules_directly_imported_by(module)}
            found[package] |= roots - {package}
    return found


def arrows(order: list[str], uses: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that do not follow from others: those that an arrow is drawn for."""
    reach: dict[str, set[str]] = {}
    for package in reversed(order):
        reach[package] = set().union(*({used} | reach[used] for used in uses[package]))
    return [
        (package, used)
        for package in order
        for used in order
        if used in uses[package] and not any(used in reach[other] for other in uses[package] - {used})
    ]


def picture() -> str:
    """The diagram as SVG."""
    order = layers()
    uses = imports([*order, ALONE])
    assert not uses[ALONE] and not any(ALONE in used for used in uses.values()), "the marketplace is a program apart"
    top = {package: 10 + row * (HEIGHT + GAP) for row, package in enumerate(order)}
    height = top[order[-1]] + HEIGHT + 10
    parts = []
    side = 0
    for package, used in arrows(order, uses):
        start, end = top[package] + HEIGHT, top[used] - 2
        if order.index(used) == order.index(package) + 1:
            parts.append(_path(f"M {LEFT + WIDTH / 2} {start} V {end}"))
        else:
            side += 1
            x, first, last = LEFT - side * SIDE + SIDE / 2, top[package] + HEIGHT / 2, top[used] + HEIGHT / 2
            parts.append(_path(f"M {LEFT} {first} H {x} V {last + side * 4} H {LEFT - 2}"))
    for package in order:
        used = [other for other in order if other in uses[package]]
        below = order[order.index(package) + 1 :]
        parts += _box(
            package, LEFT, top[package], WIDTH, _imports(used, [other for other in below if other not in used])
        )
    x, middle = LEFT + WIDTH + 130, top["platforms"]
    words = wrap(_docstring(ALONE), 40)
    parts += _box(ALONE, x, middle, 290, "imports and is imported by no other package", lines=words)
    for number, package in enumerate(("platforms", "judgments")):
        y = top[package] + HEIGHT / 2
        target = middle + 30 if number == 0 else middle + 12
        back = f"M {x} {target} H {x - 40} V {y} H {LEFT + WIDTH + 2}"
        there = f"M {LEFT + WIDTH} {y} H {x - 2}"
        parts.append(_path(there if number == 0 else back, "http"))
    parts.append(f'<text class="uses" x="{LEFT + WIDTH + 18}" y="{middle + 50}">the API, over HTTP</text>')
    parts.append(f'<text class="uses" x="{LEFT + WIDTH + 12}" y="{top["judgments"] + 24}">frames, over HTTP</text>')
    shown = "\n".join(parts)
    title = "The packages of Bestknown and their imports, from the top layer to the bottom"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x + 300} {height}" role="img" '
        f'aria-label="{title}">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
        f"<defs>{_marker('to', '')}{_marker('to-http', 'orange')}</defs>\n"
        f'<rect x="0" y="0" width="100%" height="100%" style="fill: white; stroke: none"/>\n{shown}\n</svg>\n'
    )


def _imports(used: list[str], unused: list[str]) -> str:
    """Which packages below it a package imports, in as few words as can be."""
    if not used:
        return "imports no other package"
    if len(unused) < len(used):
        return f"imports all packages below but {', '.join(unused)}" if unused else "imports all packages below"
    return f"imports {', '.join(used)}"


def _docstring(package: str) -> str:
    found = ast.get_docstring(ast.parse((REPOSITORY / package / "__init__.py").read_text()))
    assert found, f"{package}/__init__.py says what the package is for"
    return found.replace("`", "")


def _box(name: str, x: float, y: float, width: float, uses: str, lines: list[str] | None = None) -> list[str]:
    kind = ' class="alone"' if lines else ""
    lines = lines or [_docstring(name)]
    height = HEIGHT + (len(lines) - 1) * 18
    texts = [f'<text x="{x + 14}" y="{y + 39 + row * 18}">{escape(line)}</text>' for row, line in enumerate(lines)]
    return [
        f'<rect{kind} x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>',
        f'<text class="name" x="{x + 14}" y="{y + 20}">{name}</text>',
        *texts,
        f'<text class="uses" x="{x + 14}" y="{y + height - 8}">{escape(uses)}</text>',
    ]


def _path(line: str, kind: str = "") -> str:
    shape = f' class="{kind}"' if kind else ""
    return f'<path{shape} d="{line}" marker-end="url(#to{"-" + kind if kind else ""})"/>'


def _marker(name: str, kind: str) -> str:
    shape = f' class="{kind}"' if kind else ""
    size = 'markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto" markerUnits="userSpaceOnUse"'
    return f'<marker id="{name}"{shape} {size}><path d="M 0 0 L 8 4 L 0 8 z"/></marker>'


def main() -> int:
    """Draw the diagram, and say where it is."""
    PICTURE.write_text(picture())
    print(PICTURE.relative_to(REPOSITORY))
    return 0


if __name__ == "__main__":
    sys.exit(main())
