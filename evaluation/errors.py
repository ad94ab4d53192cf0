"""What can be wrong with input, told as a fact, a place, and what was expected."""


class BadInput(ValueError):
    """Input that cannot be used.

    `name` is the file as the user knows it, `line` its line counted from 1 (None where no line is to blame),
    `message` the fact. As a string: `bm25.txt.gz, line 48,211: 5 columns where ...`.
    """

    def __init__(self, name: str, line: int | None, message: str) -> None:
        super().__init__(name, line, message)
        self.name = name
        self.line = line
        self.message = message

    def __str__(self) -> str:
        place = self.name if self.line is None else f"{self.name}, line {self.line:,}"
        return f"{place}: {self.message}"


class EmptyFile(BadInput):
    """A file that holds nothing at all, once it is unpacked."""

    def __init__(self, name: str) -> None:
        super().__init__(name, 1, "the file is empty.")


class UnknownPassage(ValueError):
    """A judgment names a passage that its pool does not hold."""

    def __init__(self, passage: str) -> None:
        super().__init__(passage)
        self.passage = passage

    def __str__(self) -> str:
        return f"passage {self.passage} is not in the pool that its judgment belongs to"
