"""Which docstrings say nothing: those that only repeat a name, and short ones of what a base class has described."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.real_data import REPOSITORY

SHORT = 45  # characters; what is longer says something
NEW_WORDS = 2  # beside those of the signature: so many say something
FILLERS = frozenset(
    "a all an and are as at be by each every for from has have if in is it its of on one ones or own that the their "
    "them there these they this those to was what when where which who whom whose with".split()
)
# Methods that Django's and Python's base classes describe.
KNOWN = re.compile(
    r"handle|add_arguments|add_options|clean(_\w+)?|save|delete|get_queryset|get_context_data|get_form_kwargs|to_python|"
    r"prepare_value|label_from_instance|process_\w+|has_\w+_permission|dispatch|form_valid|read|write|close|emit|format"
)
# What these say is printed in the description of the API.
PUBLISHED = ("api/",)

Described = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Empty(NamedTuple):
    """A docstring that says nothing, with its lines in the file, counted from 1."""

    path: str
    name: str
    first: int
    last: int


def sources() -> dict[str, ast.Module]:
    """The modules of product and tests, by their paths."""
    folders = [path.parent for path in REPOSITORY.glob("*/__init__.py")] + [REPOSITORY / "docker", REPOSITORY / "demo"]
    paths = sorted(path for folder in folders for path in folder.rglob("*.py") if "migrations" not in path.parts)
    return {str(path.relative_to(REPOSITORY)): ast.parse(path.read_text()) for path in paths}


def empty_docstrings(modules: dict[str, ast.Module]) -> Iterator[Empty]:
    """Those of functions and classes that have something beside a docstring."""
    classes = {
        node.name: node
        for tree in modules.values()
        for _owner, node in _described(tree)
        if isinstance(node, ast.ClassDef)
    }
    for path, tree in modules.items():
        if path.startswith(PUBLISHED):
            continue
        for owner, node in _described(tree):
            text = ast.get_docstring(node)
            if text is None or len(text) >= SHORT or len(node.body) == 1:
                continue
            if _overrides(owner, node, classes) or len(_words(text) - _words(_signature(owner, node))) < NEW_WORDS:
                docstring = node.body[0]
                yield Empty(path, node.name, docstring.lineno, docstring.end_lineno or docstring.lineno)


def _described(node: ast.Module | Described) -> Iterator[tuple[ast.ClassDef | None, Described]]:
    """The functions and classes of a module, each with the class that it is of; none that stand in a branch."""
    for child in node.body:
        if isinstance(child, Described):
            yield (node if isinstance(node, ast.ClassDef) else None), child
            yield from _described(child)


def _overrides(owner: ast.ClassDef | None, node: Described, classes: dict[str, ast.ClassDef]) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name in ("Command", "Meta")
    if owner is None or not owner.bases:
        return False
    return bool(KNOWN.fullmatch(node.name)) or _described_above(owner, node.name, classes)


def _described_above(owner: ast.ClassDef, name: str, classes: dict[str, ast.ClassDef]) -> bool:
    for base in owner.bases:
        words = re.findall(r"\w+", ast.unparse(base))
        above = classes.get(words[0]) if words else None
        if above is None or above is owner:
            continue
        described = any(isinstance(part, Described) and part.name == name for part in above.body)
        if described or _described_above(above, name, classes):
            return True
    return False


def _signature(owner: ast.ClassDef | None, node: Described) -> str:
    names = [node.name, owner.name if owner else ""]
    if not isinstance(node, ast.ClassDef):
        names += [ast.unparse(node.args), ast.unparse(node.returns) if node.returns else ""]
    return " ".join(names)


def _words(text: str) -> set[str]:
    words = re.findall(r"[a-z]+|[A-Z][a-z]*|\d+", text)
    return {_stem(word.lower()) for word in words} - {_stem(word) for word in FILLERS}


def _stem(word: str) -> str:
    for ending in ("ies", "ing", "es", "ed", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def remove(path: Path, docstrings: list[Empty]) -> None:
    lines = path.read_text().splitlines(keepends=True)
    for docstring in sorted(docstrings, key=lambda row: -row.first):
        del lines[docstring.first - 1 : docstring.last]
    path.write_text("".join(lines))


if __name__ == "__main__":
    by_path: dict[str, list[Empty]] = {}
    for row in empty_docstrings(sources()):
        by_path.setdefault(row.path, []).append(row)
    for name, rows in by_path.items():
        remove(REPOSITORY / name, rows)
    print(f"{sum(map(len, by_path.values()))} docstrings removed from {len(by_path)} files.")
