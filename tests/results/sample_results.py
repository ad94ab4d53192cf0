"""Results as they are stored, made up: true to their form, and the same every time."""

import random
from itertools import combinations, pairwise
from typing import Any

from evaluation.statistics.comparing import Comparison
from results.inputs import FORMAT
from results.sections.compared import sum_up
from results.sections.stored import from_json, to_json

Json = dict[str, Any]


def sample(runs: int, *, names: list[str] | None = None, champion: bool = False) -> Json:
    """Results of that many runs, some of them close together, some with long names."""
    draw = random.Random(runs)
    names = names or [_name(number) for number in range(runs)]
    queries = 500
    true = sorted((0.2 + 0.2 * draw.betavariate(3, 1.5) for _ in names), reverse=True)
    before = {name: round(mean + draw.gauss(0.02, 0.02), 4) for name, mean in zip(names, true, strict=True)}
    after = dict(zip(names, (round(mean, 4) for mean in true), strict=True))
    original = sorted(names, key=lambda name: (-before[name], name))
    data: Json = {
        "version": FORMAT, "error_rate": 0.1, "error_source": "given", "error_compared": 0,
        "k": 10, "order": "score", "min_grade": 1,
        "overlap": 1, "design": "all_pairs", "seed": 1, "qrel_policy": "first",
        "outside": {
            "source": "Elsewhere, MRR@10",
            "tau": {"runs": runs, "all_queries": 0.6, "original": 0.6, "preference": 1.0},
        },
        "queries": queries, "sampled_from": 4000,
        "held_back": 0, "held_back_runs": [], "is_release": False, "answered": 480, "incomplete": 20,
        "preference_qrels": 572, "twins": 0, "unreadable": [], "adjudicated": 0,
        "weighed": 0,
        "pairs": 4210, "judgments": 4210, "best": {"1": 434, "3": 46}, "changed": 300,
        "leaderboard": [
            {
                "run": name, "pooled": True, "outside": round(after[name] + 0.05, 4), "outside_rank": None,
                "original_all": before[name],
                "original": _standing(before[name]), "preference": _standing(after[name]),
                "place_original": original.index(name) + 1, "place_preference": place,
                "corrected": after[name], "with_judges": [after[name] - 0.04, after[name] + 0.04],
            }
            for place, name in enumerate(names, 1)
        ],
        "perfect": {"preference": _standing(0.332)}, "queries_all": 6980, "tau_all": 0.95, "tau": 0.65, "tau_ap": 0.6,
        "neighbours": [
            {
                "upper": upper, "lower": lower, "original_delta": before[upper] - before[lower], "original_p": 0.3,
                "preference_delta": after[upper] - after[lower], "preference_p": 0.2,
                "preference_interval": [-0.05, 0.05],
                "changed": before[upper] > before[lower] and after[upper] < after[lower], "significant": False,
            }
            for upper, lower in pairwise(original)
        ],
        "significance": {
            "alpha": 0.05, "correction": "bonferroni", "family": max(1, runs - 1), "threshold": 0.05 / max(1, runs - 1),
        },
        "pairings": {
            "preference": {"won": 1598, "of": 1740, "share": 1598 / 1740},
            "original": {"won": 809, "of": 1736, "share": 809 / 1736},
        },
        "wins": _wins([*names, "perfect"], [*true, 0.332], draw),
        "comparisons": {"comparisons": "all", "baseline": None, "teams_apart": False, "missing": []},
        "compare": _compare(names, after), "compare_original": _compare(names, before),
        "contributions": [
            {"run": name, "preference": after[name], "without_own": after[name] - 0.01, "change": -0.01,
             "own": 40, "won": 12, "place": place, "place_without": place}
            for place, name in enumerate(names, 1)
        ],
        "champion": None,
        "challengers": None,
        "pool_sizes": [[size, draw.randint(5, 90)] for size in range(1, min(runs, 40) + 2)],
        "ranks": [
            {
                "run": name, "low": max(1, place - draw.randint(0, 4)), "high": min(runs, place + draw.randint(0, 4)),
                "median": place, "first": round(0.7 * 0.35 ** (place - 1), 4),
                "interval": [after[name] - 0.04, after[name] + 0.04], "corrected": after[name],
            }
            for place, name in enumerate(names, 1)
        ],
        "stability": [
            {
                "qid": f"q{number}", "best": [f"p{number}"], "share": 0.97, "survives": 0.99,
                "fragility": 1 + number, "exact": True,
                "set": [f"p{number}"], "also": [], "further": {}, "passages": [{"passage": f"p{number}", "p": 1.0}],
            }
            for number in range(8)
        ],
        "resampled": {"answers": 8, "unsure": 0, "settled": 8, "fragile": 1},
        "reversed": {
            "share": 0.05, "draws": 1000, "survives": 0.95, "answers": 8, "answers_survive": 8, "answers_share": 0.99,
            "conclusions": [
                {"kind": "first", "upper": names[0], "lower": None, "share": 0.97},
                *(
                    {"kind": "order", "upper": upper, "lower": lower, "share": 0.5 + 0.4 * draw.random()}
                    for upper, lower in pairwise(names)
                ),
            ] if runs > 1 else [],
        },
        "apart": {},
        "agreement": {"pairs": 300, "compared": 300, "raw": 0.8, "alpha": 0.6},
        "order_agreement": [
            {"run": name, "judged": 4210, "both": 2000, "alike": 1260 - place, "share": (1260 - place) / 2000,
             "interval": [0.6, 0.66], "pooled": True}
            for place, name in enumerate(names)
        ],
        "triples": {"triples": 9000, "intransitive": 300},
        "quality": {
            "tests": 1263, "tests_passed": 1200, "left_share": 0.51, "left_p": 0.3, "seconds_median": 9.0,
            "positions": [[position, 0.95, 9.0] for position in range(1, 14)],
        },
    }  # fmt: skip
    data["verdicts"] = verdicts(data)
    if champion:
        data["champion"] = {
            "run": names[0], "qrel": "first", "split": {"a": 134, "b": 366}, "unjudged": 0,
            "a": {"for_qrel": 88, "against": 46, "undecided": 0, "queries": 134, "share": 46 / 134,
                  "interval": [0.26, 0.43], "p": 0.0004},
            "b": {"for_qrel": 152, "against": 214, "undecided": 0, "queries": 366, "share": 214 / 366,
                  "interval": [0.53, 0.64], "p": 0.001},
            "slices": [{"name": "b against", "share": 0.428}], "crowd_error": 0.343,
        }  # fmt: skip
    return data


def verdicts(data: Json) -> Json:
    """What its comparisons come to."""
    pairs, before = (from_json(Comparison, data[name]).pairs for name in ("compare", "compare_original"))
    summed: Json = to_json(sum_up(pairs, before))
    return summed


def _name(number: int) -> str:
    tail = ["", "-large-distilled-reranked", ".v2", "_expando-mono-duo-T5-run-with-a-very-long-name"][number % 4]
    return f"team{number:02}{tail}"


def _standing(mean: float) -> Json:
    return {"mean": mean, "t": [mean - 0.035, mean + 0.035], "bootstrap": [mean - 0.034, mean + 0.034]}


def _wins(names: list[str], strengths: list[float], draw: random.Random) -> Json:
    size = len(names)
    won, of = ([[0] * size for _ in range(size)] for _ in range(2))
    p: list[list[float | None]] = [[None] * size for _ in range(size)]
    for a, b in combinations(range(size), 2):
        met = draw.randint(50, 350)
        won[a][b] = round(met * min(1, max(0, 0.5 + 2 * (strengths[a] - strengths[b]) + draw.gauss(0, 0.03))))
        won[b][a] = met - won[a][b]
        of[a][b] = of[b][a] = met
        p[a][b] = p[b][a] = 1e-6 if abs(won[a][b] / met - 0.5) > 0.15 else 0.4
    return {
        "names": names, "won": won, "of": of, "p": p, "alpha": 0.05, "family": size * (size - 1) // 2,
        "threshold": 0.05 / (size * (size - 1) / 2), "correction": "bonferroni", "apart": [],
        "row": [
            {"name": name, "won": sum(won[row]), "of": sum(of[row]), "share": sum(won[row]) / sum(of[row]),
             "beats": sum(2 * a > b for a, b in zip(won[row], of[row], strict=True)), "beats_significantly": 0}
            for row, name in enumerate(names)
        ],
    }  # fmt: skip


def _compare(names: list[str], means: dict[str, float]) -> Json:
    pairs = [
        {
            "a": a, "b": b, "delta": means[b] - means[a], "delta_interval": [means[b] - means[a] - 0.02, 0.02],
            "p": {"wrs": 0.3, "wrs_tie_corrected": 0.29, "wsr": 0.2, "t": 0.21},
            "outcomes": {"neither": 100, "a_only": 60, "b_only": 40, "both": 280, "p": 0.05}, "shares": {},
            "both": {
                "esl_a": 2.1, "esl_b": 2.3, "rr_a": 0.61, "rr_b": 0.6,
                "p": {"esl_wsr": 0.4, "esl_t": 0.41, "rr_wsr": 0.5, "rr_t": None},
            },
            "identical": False, "disagreement": None,
            "significant": dict.fromkeys(["wrs", "wsr", "t", "outcomes", "esl"]),
            "alignment": {"correlation": 0.6, "joint_misses": 1.4, "unrelated": False},
            "verdict": {
                "strict": None, "do_no_harm": "a" if a == names[0] else None,
                "trade_off": b == names[-1] and a != names[0], "better": None,
            },
        }
        for a, b in combinations(names, 2)
    ]  # fmt: skip
    threshold = 0.05 / max(1, len(pairs))
    return {
        "k": 10, "queries": 480, "alpha": 0.05, "family": len(pairs), "threshold": threshold, "means": means,
        "correction": "bonferroni", "margin": 0.0, "thresholds": dict.fromkeys(("outcomes", "esl"), threshold),
        "lists": dict.fromkeys(names, 1000), "rank_by": "esl-wsr",
        "order_by_verdicts": names, "order_by_means": names,
        "pairs": pairs,
    }  # fmt: skip
