"""The fast way to read a block of lines says what the plain way says."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation.files.runlines import (
    MS_MARCO,
    TREC,
    Format,
    Parsed,
    detect_format,
    joined,
    parse,
    parse_fast,
    parse_plainly,
)
from evaluation.files.textfiles import Block

FORMATS = pytest.mark.parametrize("form", [TREC, MS_MARCO], ids=["trec", "ms marco"])


def block(data: bytes) -> Block:
    return Block(11, data.count(b"\n") + (not data.endswith(b"\n")), data)


def told(parsed: Parsed) -> object:
    rows = parsed.rows
    columns = (rows.queries.to_pylist(), rows.passages.to_pylist(), rows.ranks.tolist(), rows.scores.tolist())
    return list(zip(*columns, rows.lines.tolist(), strict=True)), parsed.tally, parsed.errors


ODD_NUMBERS = """
nan inf -inf infinity NaN 1e999 -1e999 1e-999 0x1F 0X1f 1_000 +5 -0 -0.0 .5 5. . - + 1e 1e5 1E+5 1.5e-3 ١٢ 007 1,5
9007199254740991 9007199254740992 9007199254740993 1d5 1f 1.0 2.50 true null NULL NA #N/A
"""
NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.4f}"),
    st.sampled_from(ODD_NUMBERS.split()),
    st.from_regex(re.compile(r"[-+.0-9eExX_]{1,12}", re.ASCII), fullmatch=True),
)
IDS = st.one_of(
    st.integers(0, 30).map(str),
    st.text(st.characters(exclude_characters=" \t\n\r", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40),
    st.sampled_from(
        ['"a"', '"a', "a'b", "a\\", ",", "a,b", "é", "文書", "a\u00a0b", "\ufeff", "\x7f", "a\x0bb", "a\rb", "a\0b"]
    ),
)
GAPS = st.sampled_from([" "] * 12 + ["\t"] * 6 + ["  ", " \t", "\t\t"])
EDGES = st.sampled_from([""] * 20 + [" ", "\t", "\x0b", "\0", "\r", "x y"])
ENDS = st.sampled_from(["\n"] * 10 + ["\r\n"] * 5 + ["\n\n", "\r\r\n", "\r"])


@st.composite
def lines(draw: st.DrawFn, form: Format) -> bytes:
    columns = [draw(IDS) for _ in form.columns]
    columns[form.rank] = draw(st.one_of(st.integers(-5, 50).map(str), NUMBERS))
    if form.score is not None:
        columns[form.score] = draw(NUMBERS)
    text = draw(EDGES) + columns[0] + "".join(draw(GAPS) + column for column in columns[1:]) + draw(EDGES)
    data = (text + draw(ENDS)).encode()
    if draw(st.integers(0, 30)) == 0:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
    return data


@FORMATS
@settings(max_examples=400)
@given(data=st.data())
def test_the_fast_way_agrees_with_the_plain_way_or_declines(form: Format, data: st.DataObject) -> None:
    content = b"".join(data.draw(st.lists(lines(form), min_size=1, max_size=4)))
    if data.draw(st.booleans()):
        content = content.removesuffix(b"\n") or b"x"
    fast = parse_fast(block(content), form)
    if fast is not None:
        assert told(fast) == told(parse_plainly(block(content), form))


@given(st.binary(min_size=1, max_size=80))
@example(b"1 Q0 d 1 0x10 t\n")
@example(b"1\tQ0\t\td 1 2 t\n")
@example(b" \n")
@example(b"\xef\xbb\xbf 0 0\n")
@example(b" \xef\xbb\xbf 0 0\n")
def test_the_fast_way_agrees_on_any_bytes(content: bytes) -> None:
    for form in (TREC, MS_MARCO):
        fast = parse_fast(block(content), form)
        if fast is not None:
            assert told(fast) == told(parse_plainly(block(content), form))


@pytest.mark.parametrize(
    "content",
    [
        b"1 Q0 d1 1 2.5 t\n2 Q0 d2 1 -2e3 t\n",
        b"1\tQ0\td1\t1\t2.5\tt\r\n1\tQ0\td2\t2\t2\tt\r\n",
        b"1   Q0  d1 1 2.5 t \n 1 Q0 d2 2 2 t\n",
        '1 Q0 "d,1" 1 2.5 t\n1 Q0 文書 2 2 t'.encode(),
        b"1 Q0 d1 1.0 2.5 t\n",
    ],
)
def test_the_fast_way_takes_what_runs_look_like(content: bytes) -> None:
    fast = parse_fast(block(content), TREC)
    assert fast is not None
    assert told(fast) == told(parse_plainly(block(content), TREC))
    assert not fast.errors


@given(st.lists(lines(TREC), min_size=1, max_size=30), st.integers(1, 200))
def test_a_block_in_parts_gives_what_the_plain_way_gives(content: list[bytes], size: int) -> None:
    whole = block(b"".join(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluation.files.runlines._PART", size)
        parts = list(parse(whole, TREC))
    plain = parse_plainly(whole, TREC)
    rows = joined([part.rows for part in parts])
    errors = [error for part in parts for error in part.errors]
    assert told(Parsed(rows, plain.tally, errors)) == told(plain)
    assert sum(part.tally.crlf for part in parts) == plain.tally.crlf
    assert sum(part.tally.tabs for part in parts) == plain.tally.tabs
    assert sum(part.tally.extra_spaces for part in parts) == plain.tally.extra_spaces


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 Q0 d 1 2.5", "5 columns where a TREC run has 6 (query Q0 passage rank score tag)."),
        (b"1 Q0 d 1 2.5 my run", "7 columns where a TREC run has 6 (query Q0 passage rank score tag)."),
        (b"", "0 columns where a TREC run has 6 (query Q0 passage rank score tag)."),
        (b"1 Q0 d one 2.5 t", "rank one is not a finite number."),
        (b"1 Q0 d nan 2.5 t", "rank nan is not a finite number."),
        (b"1 Q0 d 1.5 2.5 t", "rank 1.5 is not a whole number below 2^53."),
        (b"1 Q0 d 9007199254740993 2.5 t", "rank 9007199254740993 is not a whole number below 2^53."),
        (b"1 Q0 d 1 high t", "score high is not a finite number."),
        (b"1 Q0 d 1 inf t", "score inf is not a finite number."),
        (b"1 Q0 d 1 1e400 t", "score 1e400 is not a finite number."),
        (b"1 Q0 d 1 1_0 t", "score 1_0 is not a finite number."),
        (b"1 Q0 d\0 1 2.5 t", "a NUL byte (at byte 7 of the line)."),
        (b"1 Q0 d\xff 1 2.5 t", "invalid UTF-8 (0xFF at byte 7 of the line)."),
        (b"1 Q0 d\x0b 1 2.5 t", "a control character (0x0B at byte 7 of the line)."),
        (b"1 Q0 d 1 2.5 t\r1 Q0 e 2 2 t", "a control character (0x0D at byte 15 of the line)."),
    ],
)
def test_each_bad_line_is_told_why(line: bytes, message: str) -> None:
    parts = list(parse(block(b"9 Q0 x 1 1 t\n" + line + b"\n9 Q0 y 2 1 t\n"), TREC))
    assert [error for part in parts for error in part.errors] == [(12, message)]
    assert [number for part in parts for number in part.rows.lines.tolist()] == [11, 13]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"1 2 3\n", MS_MARCO),
        (b"1\t2\t3\r\n", MS_MARCO),
        (b"1 Q0 d 1 2 t\n", TREC),
        (b"broken line here\n1 Q0 d 1 2 t\n1 Q0 e 2 2 t\n", TREC),
        (b"1 0 d 1\n", TREC),
        (b"\n", TREC),
    ],
)
def test_the_format_is_that_of_most_of_the_first_lines(content: bytes, form: Format) -> None:
    assert detect_format(block(content)) is form
