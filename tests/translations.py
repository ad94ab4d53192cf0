"""What workers read, as it is written in the code: every text that a catalogue must hold."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import templatize

TEMPLATES = (
    "templates/base.html",
    "templates/message.html",
    "templates/core/parts.html#pages",
    "templates/core/parts.html#typed",
)
PAGES = ("templates/judgments/pages/*.html",)
MODULES = ("judgments/pages/*.py", "tasks/links.py", "core/money.py")
NOT_READ = {"api.py"}  # what it refuses, no page of ours sends
# Of modules that speak to researchers too, the functions and classes that speak to workers.
PARTS = {
    "pools/wording.py": {"default_words"},
    "tasks/consent.py": {"_consent"},
    "tasks/practice.py": {"must_have_practised"},
    "tasks/paying.py": {"asked_at_open_link", "pay_detail_write"},
    "tasks/outside_panels.py": {"visitor_of"},
    "platforms/arriving.py": {"assignment_arrive", "must_be_free", "_arrive"},
    "platforms/prolific/adapter.py": {"confirm_arrival", "check_visit"},
    "platforms/prolific/visits.py": {"token_check", "_not_ours", "_fetch"},
    "tasks/services.py": {"may_take", "_closed_reason", "nothing_left_reason"},
    "judgments/worker_reports.py": {"pair_report", "note_write"},
    "judgments/services.py": {"judgment_save", "assignment_finish"},
    "judgments/models.py": {"Reason"},
}
TITLES = ("core/errors.py", "tasks/links.py", "tasks/services.py", "judgments/pages/worker.py")  # of refusals
_CALLS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
_TEXT = r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_IN_TEMPLATE = re.compile(rf"\b(?:n?gettext|_)\(\s*{_TEXT}", re.DOTALL)


def worker_texts(root: Path) -> set[str]:
    return {text for found in (_of_templates(root), _of_modules(root), _titles(root)) for text in found}


def _files(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(root.glob(pattern))


def _of_templates(root: Path) -> Iterator[str]:
    yield from template_texts(root, (*TEMPLATES, *PAGES))


def template_texts(root: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    """The texts of templates, and of a part of one: `parts.html#pages`."""
    for pattern in patterns:
        files, _, part = pattern.partition("#")
        for path in sorted(root.glob(files)):
            text = path.read_text()
            if part:
                text = text.split(f"{{% partialdef {part} %}}")[1].split("{% endpartialdef %}")[0]
            for found in _IN_TEMPLATE.finditer(templatize(text, origin=str(path))):
                yield ast.literal_eval(found[1].replace("\n", "\\n"))


def _of_modules(root: Path) -> Iterator[str]:
    for path in _files(root, MODULES):
        if path.name not in NOT_READ:
            yield from calls_in(ast.parse(path.read_text()))
    for name, parts in PARTS.items():
        for node in ast.walk(ast.parse((root / name).read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in parts:
                yield from calls_in(node)


def calls_in(tree: ast.AST) -> Iterator[str]:
    """The texts that code marks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and node.args:
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value


def _titles(root: Path) -> Iterator[str]:
    for path in _files(root, TITLES):
        for kind in ast.walk(ast.parse(path.read_text())):
            for node in kind.body if isinstance(kind, ast.ClassDef) else ():
                match node:
                    case ast.Assign(targets=[ast.Name(id="title")], value=ast.Constant(value=str(text))):
                        yield text
