"""The wheels of the command `bestknown`: of the whole package, and of the part that participants of a leaderboard need.

`pip install` of the folder above makes the first: this module is the build backend that pyproject.toml there names
(PEP 517). A site serves the second. So it needs nothing that is installed, and imports nothing of the package.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).resolve().parents[1]
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every file: the same source gives the same wheel
# The modules keep their names, in a folder of their own: `evaluation` is too common a name to take from everybody.
_START = '''"""{description}"""

import sys
from pathlib import Path


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent))
    from {command} import main

    return main()
'''
_RUN = "import sys\n\nfrom {home} import main\n\nsys.exit(main())\n"


class Package(NamedTuple):
    """`home` is the folder that is installed, and `needs` the packages of pyproject.toml that `command` imports."""

    name: str
    home: str
    description: str
    command: str
    needs: frozenset[str]


WHOLE = Package(
    "bestknown-evaluation",
    "bestknown_evaluation",
    "From run files to preference qrels, and what they do to a leaderboard.",
    "evaluation.cli.main",
    frozenset({"choix", "cryptography", "krippendorff", "numpy", "pyarrow", "pyyaml", "scipy", "zstandard"}),
)
SEALING = Package(
    "bestknown-seal",
    "bestknown_seal",
    "Checks and seals submissions to Bestknown's leaderboards.",
    "evaluation.cli.participants",
    frozenset({"cryptography", "numpy", "pyarrow", "pyyaml", "zstandard"}),
)


class Wheel(NamedTuple):
    """A wheel under the name that pip asks for."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """What pip calls: writes the wheel, and says its name."""
    wheel = make_wheel(WHOLE)
    Path(wheel_directory, wheel.name).write_bytes(wheel.content)
    return wheel.name


def make_wheel(package: Package) -> Wheel:
    project = tomllib.loads((_FOLDER / "pyproject.toml").read_text())["project"]
    name = f"{package.home}-{project['version']}"
    files = dict(_files(package, project, f"{name}.dist-info"))
    record = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in files.items()]
    record.append(f"{name}.dist-info/RECORD,,\n")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in {**files, f"{name}.dist-info/RECORD": "".join(record).encode()}.items():
            info = zipfile.ZipInfo(path, _WHEN)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)
    return Wheel(f"{name}-py3-none-any.whl", packed.getvalue())


def sources(command: str) -> dict[str, Path]:
    """The modules that a command imports, directly or not, with their packages, by name."""
    files: dict[str, Path] = {}
    waiting = [command]
    while waiting:
        name = waiting.pop()
        path = _FOLDER.joinpath(*name.split(".")[1:])
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in files or not path.is_file():  # what is imported from a module is no module
            continue
        files[name] = path
        waiting += [*filter(None, [name.rpartition(".")[0]]), *_imported(path)]
    return dict(sorted(files.items()))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.split(".")[0] == "evaluation")


def _files(package: Package, project: dict[str, Any], about: str) -> Iterator[tuple[str, bytes]]:
    yield f"{package.home}/__init__.py", _START.format(**package._asdict()).encode()
    yield f"{package.home}/__main__.py", _RUN.format(home=package.home).encode()
    for path in sources(package.command).values():
        yield f"{package.home}/evaluation/{path.relative_to(_FOLDER).as_posix()}", path.read_bytes()
    head = {
        "Metadata-Version": "2.1", "Name": package.name, "Version": project["version"],
        "Summary": package.description, "License": project["license"], "Requires-Python": project["requires-python"],
    }  # fmt: skip
    lines = [f"{name}: {value}\n" for name, value in head.items()]
    lines += [f"Requires-Dist: {needed}\n" for needed in project["dependencies"] if _name(needed) in package.needs]
    yield f"{about}/METADATA", "".join(lines).encode()
    yield f"{about}/WHEEL", b"Wheel-Version: 1.0\nGenerator: bestknown\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    yield f"{about}/entry_points.txt", f"[console_scripts]\nbestknown = {package.home}:main\n".encode()
    yield f"{about}/licenses/LICENSE", (_FOLDER.parent / "LICENSE").read_bytes()


def _name(requirement: str) -> str:
    return requirement.partition(">")[0]


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
