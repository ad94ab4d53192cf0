"""The ir_metadata header of a run: YAML in comment lines before the first line of the run.

    # ir_metadata.start
    # actor:
    #   team: Our group
    # ir_metadata.end

Values are kept as they are written: text, except for plain decimal numbers, true, false and null. Dates, times and
codes such as 007 stay text. Aliases and tags are refused: they stand for more than the header says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from evaluation.errors import BadInput
from evaluation.files.textfiles import Block, decode_line, quote_value

START, END = b"ir_metadata.start", b"ir_metadata.end"
HEADER_BYTES = 64 << 10
DEPTH = 20
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


class UnfinishedHeader(BadInput):
    """The block ends before the header does."""


def split_header(block: Block, name: str) -> tuple[dict[str, Any], Block]:
    """The metadata of a file's first block, and the rest of the block. Without a header: nothing, and the block.

    Raises BadInput where a header begins that does not end, is longer than 64 KB, or is not YAML.
    """
    size = len(block.data)
    end = _end_of_line(block.data, 0)
    if _comment(block.data[:end]) != START:
        return {}, block
    lines: list[str] = []
    number = block.line
    while True:
        begin, end = end, _end_of_line(block.data, end)
        number += 1
        if begin >= size:
            message = "an ir_metadata header that does not end: “# ir_metadata.end” is missing."
            raise UnfinishedHeader(name, block.line, message)
        line = block.data[begin:end].removesuffix(b"\n").removesuffix(b"\r")
        if not line.startswith(b"#"):
            message = "does not begin with #, and the ir_metadata header has not ended (with “# ir_metadata.end”)."
            raise BadInput(name, number, message)
        if _comment(line) == END:
            break
        if end > HEADER_BYTES:
            raise BadInput(name, block.line, f"an ir_metadata header of more than {HEADER_BYTES:,} bytes.")
        lines.append(decode_line(line, name, number).removeprefix("#"))
    if all(not line.strip() or line.startswith(" ") for line in lines):
        lines = [line[1:] for line in lines]
    metadata = _read_yaml("\n".join(lines), name, block.line + 1)
    rest = Block(number + 1, block.lines - (number + 1 - block.line), block.data[end:])
    return metadata, rest


def flatten(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """`(dotted name, text)` of every value: what a page or a terminal shows. Lists of plain values become one text."""
    for name, value in metadata.items():
        yield from _flatten(name, value)


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    parts: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        parts = [(str(number), part) for number, part in enumerate(value, start=1)]
    if parts:
        for key, part in parts:
            yield from _flatten(f"{name}.{key}", part)
    elif isinstance(value, list):
        yield name, ", ".join(_text(part) for part in value)
    else:
        yield name, "" if isinstance(value, dict) else _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _end_of_line(data: bytes, start: int) -> int:
    return data.find(b"\n", start) + 1 or len(data)


def _comment(line: bytes) -> bytes:
    """What a comment line says, without the number sign and spaces around."""
    return line.removeprefix(b"#").strip() if line.startswith(b"#") else b""


def _read_yaml(text: str, name: str, first_line: int) -> dict[str, Any]:
    reader = _Reader(name, first_line)
    try:
        reader.check_events(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        if "single document" in str(error.context):
            raise BadInput(name, line, "an ir_metadata header holds one document, and here a second begins.") from None
        raise BadInput(name, line, f"the ir_metadata header is not YAML here ({error.problem}).") from None
    except yaml.reader.ReaderError as error:
        line = first_line + text[: int(error.position)].count("\n")
        raise BadInput(name, line, f"the ir_metadata header is not YAML here ({error.reason}).") from None
    except RecursionError:
        raise BadInput(name, first_line, f"the ir_metadata header is more than {DEPTH} levels deep.") from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise BadInput(name, reader.line_of(root), "an ir_metadata header holds names with values (`team: ours`).")
    metadata: dict[str, Any] = reader.value_of(root)
    return metadata


class _Reader:
    """Turns YAML nodes into plain values, and complains by line of the file."""

    def __init__(self, name: str, first_line: int) -> None:
        self.name = name
        self.first_line = first_line

    def line_of(self, node: yaml.Node) -> int:
        return self.first_line + int(node.start_mark.line)

    def check_events(self, text: str) -> None:
        """Refuse aliases, tags and depth before nodes are made: a node no longer shows that it was an alias."""
        depth = 0
        event: Any
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = self.first_line + int(event.start_mark.line)
            if isinstance(event, yaml.AliasEvent):
                raise BadInput(self.name, line, f"an alias (*{quote_value(str(event.anchor))}): write the value out.")
            if getattr(event, "tag", None):
                raise BadInput(self.name, line, f"a tag ({quote_value(event.tag)}): leave it out.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                raise BadInput(self.name, line, f"the ir_metadata header is more than {DEPTH} levels deep.")

    def value_of(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            pairs: dict[str, Any] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise BadInput(self.name, self.line_of(key), "a list or a mapping where a name is expected.")
                label = self.text_of(key)
                if label in pairs:
                    raise BadInput(self.name, self.line_of(key), f"“{quote_value(label)}” is given twice.")
                pairs[label] = self.value_of(value)
            return pairs
        if isinstance(node, yaml.SequenceNode):
            return [self.value_of(value) for value in node.value]
        text = self.text_of(node)
        if getattr(node, "style", None) is not None:  # quoted, or a block of text
            return text
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _INTEGER.fullmatch(text):
            return int(text)
        return float(text) if _DECIMAL.fullmatch(text) else text

    def text_of(self, node: yaml.Node) -> str:
        text: str = node.value
        if "\0" in text:
            raise BadInput(self.name, self.line_of(node), "a NUL character.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise BadInput(self.name, self.line_of(node), "half of a character (a lone surrogate).")
        return text
