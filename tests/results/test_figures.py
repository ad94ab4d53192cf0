"""The figures: true to their data, the same every time, safe within a page, legible with any names."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from results import figures
from results.drawing import placing, style
from results.drawing.marks import Marks
from results.drawing.placing import Box
from results.figures import FIGURES
from results.sections import champion
from results.sections.whole import read
from tests.results.sample_results import Json, sample

REPOSITORY = Path(__file__).parents[2]
SIZES = [4, 30]
NASTY = [
    "<b>bold</b>",
    "$x_1$ & \\frac",
    "a\"b'c",
    "日本語",
    "x" * 99 + "1",
    "x" * 99 + "2",
    "bell\x07 and\nline",
    "%s{}",
]
SVG = "{http://www.w3.org/2000/svg}"


def words(drawing: bytes) -> list[str]:
    """Every text of an SVG."""
    return ["".join(text.itertext()) for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def everything(data: Json) -> dict[str, bytes]:
    """All drawable figures as SVG."""
    return {figure.name: figures.svg(figure.name, read(data)) for figure in figures.drawable(read(data))}


@pytest.fixture(autouse=True)
def figures_once() -> None:
    """Here they are all drawn."""


@cache
def drawn(size: int) -> dict[str, bytes]:
    """All figures of the sample of so many runs, drawn once."""
    return everything(sample(size, champion=True))


# --- true to the data


@pytest.mark.parametrize("size", SIZES)
def test_every_run_is_named_on_every_figure_about_runs(size: int) -> None:
    names = style.short_names([run["run"] for run in sample(size)["leaderboard"]])
    for name, drawing in drawn(size).items():
        if name not in ("pool-sizes", "champion"):
            text = " ".join(words(drawing))
            assert all(run in text for run in names), name


def test_the_champion_check_is_drawn_only_where_there_was_one() -> None:
    assert "champion" not in everything(sample(4))
    assert set(drawn(4)) == set(FIGURES) - {"measures"}


def test_the_slices_are_the_papers() -> None:
    texts = words(figures.svg("champion", read(sample(1, champion=True))))
    assert [text for text in texts if "%" in text] == ["43%  (214)", "30%  (152)", "9%  (46)", "18%  (88)"]
    assert sum(part.pairs for part in champion.bars(read(sample(1, champion=True)).champion)) == 500


def test_a_cell_has_the_share_of_the_column_against_the_row_and_of_how_many_and_the_last_row_what_it_beats() -> None:
    data = sample(2)
    data["wins"] |= {
        "won": [[0, 30, 5], [10, 0, 4], [5, 6, 0]],
        "of": [[0, 40, 10], [40, 0, 10], [10, 10, 0]],
        "p": [[None, 0.001, 1.0], [0.001, None, 0.7], [1.0, 0.7, None]],
        "row": [total | {"beats": beats} for total, beats in zip(data["wins"]["row"], (1, 0, 2), strict=True)],
    }
    texts = words(figures.svg("win-ratios", read(data)))
    cells = [text for text in texts if re.fullmatch(r"\d+|·|–", text)]
    assert cells == [
        *("·", "25", "40", "50", "10"),
        *("75", "40", "·", "60", "10"),
        *("50", "10", "40", "10", "·"),
        *("1", "0", "2"),
    ]
    assert "A cell rests on 10 to 40 decided queries." in FIGURES["win-ratios"].description(read(data))


def test_what_is_significant_is_bold_and_framed() -> None:
    data = sample(2)
    plain, marked = (
        figures.svg("win-ratios", read(data | {"wins": data["wins"] | {"p": [[p] * 3] * 3}})).decode()
        for p in (0.9, 1e-9)
    )
    assert marked.count('font-weight="700"') == 6 and plain.count('font-weight="700"') == 0
    drawn_shapes = [sum(d.count("M") for d in re.findall(r' d="([^"]+)"', drawing)) for drawing in (marked, plain)]
    assert drawn_shapes[0] - drawn_shapes[1] == 6


def test_runs_stand_in_the_order_of_the_original_leaderboard_on_both_interval_figures() -> None:
    data = sample(16)
    runs = sorted(data["leaderboard"], key=lambda run: run["place_original"])
    names = [*style.short_names([run["run"] for run in runs]), "perfect ranking"]
    for kind, perfect in (("original", "1.000"), ("preference", "0.332")):
        texts = words(figures.svg(f"intervals-{kind}", read(data)))
        assert [text for text in texts if text in names] == names
        means = [text for text in texts if re.fullmatch(r"\d\.\d{3}", text)]
        assert means == [*(f"{run[kind]['mean']:.3f}" for run in runs), perfect]


@pytest.mark.parametrize("size", SIZES)
def test_descriptions_say_what_is_drawn(size: int) -> None:
    data = sample(size, champion=True)
    for figure in figures.drawable(read(data)):
        text = figure.description(read(data))
        assert len(text) > 40 and text.endswith(".") and any(sign.isdigit() for sign in text)
    assert f"{data['leaderboard'][0]['run']} is first with probability 70%" in FIGURES["ranks"].description(read(data))


def test_a_share_that_is_not_all_or_nothing_is_not_rounded_to_it() -> None:
    assert [style.percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "<1%", "50%", ">99%", "100%"]


def by_measures(size: int) -> Json:
    """Results with two more measures, of which the last run lacks the second."""
    runs = [row["run"] for row in sample(size)["leaderboard"]]

    def score(mean: float | None) -> Json:
        t = None if mean is None else [mean - 0.05, mean + 0.05]
        return {
            "preference": {"mean": mean, "t": t, "queries": 480},
            "original": {"mean": mean, "t": t, "queries": 480},
        }

    rows = [
        {"run": run, "scores": [score(0.5 + at / 1000), score(None if run == runs[-1] else 0.9 - at / 1000)]}
        for at, run in enumerate(runs)
    ]
    return sample(size) | {
        "measures": {
            **{"names": ["nDCG@10", "Compat(p=0.9)"], "alpha": 0.05, "correction": "none"},
            "runs": rows,
            "tests": [],
        }
    }


@pytest.mark.parametrize("size", SIZES)
def test_other_measures_have_a_panel_each_with_every_run_and_mean(size: int) -> None:
    data = by_measures(size)
    texts = words(figures.svg("measures", read(data)))
    names = style.short_names([row["run"] for row in data["leaderboard"]])
    assert [text for text in texts if text in names] == names
    assert {"Mean nDCG@10", "Mean Compat(p=0.9)"} <= set(texts)
    means = [text for text in texts if re.fullmatch(r"\d\.\d{3}", text)]
    expected = [row["scores"][at]["preference"]["mean"] for at in (0, 1) for row in data["measures"]["runs"]]
    assert sorted(means) == sorted(f"{mean:.3f}" for mean in expected if mean is not None)
    text = FIGURES["measures"].description(read(data))
    assert f"nDCG@10: {data['leaderboard'][-1]['run']} is highest, {0.5 + (size - 1) / 1000:.3f}" in text
    assert f"Compat(p=0.9): {data['leaderboard'][0]['run']} is highest, 0.900" in text
    assert "measures" not in [figure.name for figure in figures.drawable(read(sample(size)))]


def test_results_without_anything_are_drawn_as_far_as_they_go() -> None:
    data = sample(4) | {"leaderboard": [], "perfect": None, "wins": None, "ranks": None, "tau": None}
    assert list(everything(data)) == ["pool-sizes"]
    assert everything(data | {"pool_sizes": []}) == {}


def test_an_interval_over_two_queries_is_drawn_as_far_as_a_mean_can_be() -> None:
    data = sample(2)
    for row in (*data["leaderboard"], data["perfect"]):
        row["preference"] |= {"t": [-5.9, 6.7]}
    numbers = [
        float(text.replace("\N{MINUS SIGN}", "-"))
        for text in words(figures.svg("intervals-preference", read(data)))
        if re.fullmatch("[\N{MINUS SIGN}-]?[0-9.]+", text)
    ]
    assert numbers and all(-0.1 <= number <= 1.1 for number in numbers)


def test_one_run_without_intervals_is_drawn() -> None:
    data = sample(1) | {"tau": None}
    data["leaderboard"][0]["preference"] |= {"t": None}
    data["perfect"]["preference"] |= {"t": None}
    assert all(len(drawing) > 1000 for drawing in everything(data).values())


# --- the same every time


def drawings(every: int = 1, *, alone: bool = False) -> dict[str, str]:
    """Digests of all forms of every so many figures: of one drawn with the others, or alone and the last first."""
    data, digests = sample(3, champion=True), {}
    drawable = figures.drawable(read(data))[::every]
    for figure in reversed(drawable) if alone else drawable:
        for forms in [(form,) for form in reversed(figures.FORMS)] if alone else [figures.FORMS]:
            drawn = figures.draw(figure.name, read(data), forms)
            assert tuple(drawn) == forms
            digests |= {f"{figure.name}.{form}": hashlib.sha256(content).hexdigest() for form, content in drawn.items()}
    return digests


def test_the_same_data_give_the_same_bytes_in_every_process_and_thread_and_whichever_forms_are_drawn_together() -> None:
    code = (
        "import django, json; django.setup(); from tests.results import test_figures; "
        "print(json.dumps(test_figures.drawings(alone=True)))"
    )
    another = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONHASHSEED": "1"},  # ours is another, at random
        check=True,
        capture_output=True,
    )
    here: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda every=every: here.append(drawings(every))) for every in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    some, every = sorted(here, key=len)
    assert every == json.loads(another.stdout)
    assert some and some == {name: every[name] for name in some}
    assert len(every) == len(figures.FORMS) * (len(FIGURES) - 1)  # all but the one about other measures


# --- safe and at home in a page


@pytest.mark.parametrize("size", SIZES)
def test_an_svg_has_nothing_that_the_pages_policy_forbids(size: int) -> None:
    ids: list[str] = []
    for name, drawing in drawn(size).items():
        root = ElementTree.fromstring(drawing)
        assert root.tag == f"{SVG}svg" and root.get("role") == "img"
        for element in root.iter():
            assert element.tag not in (f"{SVG}style", f"{SVG}script", f"{SVG}metadata")
            assert "style" not in element.attrib
            assert element.tag != f"{SVG}use" or "clip-path" not in element.attrib  # it would be moved too
            assert not {"#000000", "#ffffff"} & set(element.attrib.values())
        assert b"<?xml" not in drawing and b"<!DOCTYPE" not in drawing
        declared = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        referred = re.findall(r'(?:href="#|url\(#)([^")]+)', drawing.decode())
        assert set(referred) <= set(declared)
        assert root.attrib["aria-labelledby"].split() == [root[0].get("id"), root[1].get("id")]
        assert (root[0].text, root[1].text) == (
            FIGURES[name].title,
            FIGURES[name].description(read(sample(size, champion=True))),
        )
        ids += declared
    assert len(ids) == len(set(ids))


def test_a_library_that_names_the_elements_of_svgs_otherwise_changes_no_figure() -> None:
    ElementTree.register_namespace("svg", SVG.strip("{}"))  # as qrcode does
    name = next(iter(drawn(SIZES[0])))
    assert figures.svg(name, read(sample(SIZES[0], champion=True))) == drawn(SIZES[0])[name]
    assert drawn(SIZES[0])[name].startswith(b"<svg ")


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_names_are_never_taken_as_markup_or_mathematics() -> None:
    data = sample(len(NASTY), names=NASTY)
    for name, drawing in everything(data).items():
        if name != "pool-sizes":
            text = " ".join(words(drawing))
            assert "<b>bold</b>" in text and "$x_1$ & \\frac" in text, name
            assert "bell\ufffd and\ufffdline" in text
    assert figures.draw("scatter", read(data), ["png"])["png"].startswith(b"\x89PNG")
    assert figures.draw("win-ratios", read(data), ["pdf"])["pdf"].startswith(b"%PDF")


def test_long_names_lose_their_middle_and_stay_different() -> None:
    names = ["short", "a" * 60 + "1" + "b" * 60, "a" * 60 + "2" + "b" * 60]
    short = style.short_names(names)
    assert short[0] == "short" and len(set(short)) == 3
    assert style.short_names(["first" + "-" * 90 + "last"]) == ["first" + "-" * 11 + "…" + "-" * 11 + "last"]


# --- labels


@pytest.mark.parametrize("size", SIZES)
def test_labels_of_the_scatter_plot_do_not_collide(size: int) -> None:
    points = [(20.0 + 7 * (number * 37 % 41), 30.0 + 6 * (number * 23 % 43)) for number in range(size)]
    room = Box(0, 0, 330, 300)
    places = placing.place(points, [(14.0, 10.0)] * size, room, 400)
    assert places is not None
    boxes = [placed.box for placed in places]
    for number, box in enumerate(boxes):
        assert room.left <= box.left and box.right <= room.right and room.bottom <= box.bottom and box.top <= room.top
        assert not any(box.overlaps(other) for other in boxes[:number])
        assert not any(box.left < x < box.right and box.bottom < y < box.top for x, y in points)


def test_names_that_find_no_room_become_numbers_with_a_key() -> None:
    assert "team00" in words(figures.svg("scatter", read(sample(4))))
    texts = words(figures.svg("scatter", read(sample(60))))
    assert "60" in texts and "1  team00" in texts and "team00" not in texts


def test_a_label_that_cannot_be_placed_is_said_so() -> None:
    assert placing.place([(5, 5), (6, 6)], [(50, 10)] * 2, Box(0, 0, 20, 20), 100) is None


# --- marks


@pytest.mark.parametrize("size", SIZES)
def test_every_run_point_cell_and_bar_has_a_mark_with_its_numbers_within_the_figure(size: int) -> None:
    data = sample(size, champion=True)
    runs = {row["run"] for row in data["leaderboard"]}
    drawn = figures.drawings(read(data))
    assert set(drawn.marks) == set(drawn.figures)
    counts = {"pool-sizes": len(data["pool_sizes"]), "champion": 4, "win-ratios": (size + 1) ** 2}
    for name, written in drawn.marks.items():
        marks = Marks.read(written)
        assert [marks.width, marks.height] == [
            float(number) for number in ElementTree.fromstring(drawn.figures[name]).attrib["viewBox"].split()[2:]
        ]
        assert len(marks.marks) in (counts.get(name, size), size + name.startswith("intervals")), name
        assert runs.issuperset(run for mark in marks.marks for run in mark.runs)
        assert name in ("pool-sizes", "champion") or runs == {run for mark in marks.marks for run in mark.runs}, name
        if name in ("pool-sizes", "champion"):
            assert all(mark.passages or len(mark.runs) == 1 for mark in marks.marks), name  # each leads somewhere
        for mark in marks.marks:
            assert any(sign.isdigit() for sign in mark.text)
            numbers = re.findall(r"-?[\d.]+", mark.path.partition("a")[0])
            assert all(-13 <= float(x) <= marks.width + 13 for x in numbers[::2]), (name, mark)
            assert all(-13 <= float(y) <= marks.height + 13 for y in numbers[1::2]), (name, mark)
        ElementTree.fromstring(marks.svg("a & b", lambda mark: "?words=" + "&".join(mark.runs)))


def test_a_mark_says_what_its_figure_shows() -> None:
    data = sample(2)
    data["wins"] |= {
        "won": [[0, 30, 5], [10, 0, 4], [5, 6, 0]],
        "of": [[0, 40, 10], [40, 0, 10], [10, 10, 0]],
        "p": [[None, 0.001, 1.0], [0.001, None, 0.7], [1.0, 0.7, None]],
    }
    first, second = (row["run"] for row in data["leaderboard"])
    texts = {
        name: [mark.text for mark in Marks.read(marks).marks]
        for name, marks in figures.drawings(read(data)).marks.items()
    }
    assert texts["win-ratios"][1] == f"{second} preferred to {first}: 25% of 40 decided queries, significant"
    assert texts["win-ratios"][6] == f"{first} preferred to perfect ranking: 50% of 10 decided queries, not significant"
    row = data["leaderboard"][0]
    assert f"{first}: RR@10 {row['original']['mean']:.3f}, rank {row['place_original']} on" in texts["slopes"][0]
    assert texts["pool-sizes"][0] == f"1 passage: {data['pool_sizes'][0][1]} pools"
