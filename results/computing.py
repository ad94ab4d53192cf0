"""The results of a campaign as data: a pure function of the inputs, all mathematics being evaluation's."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from evaluation.files.artifact import Order
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Entry, Policy, Qrels
from evaluation.judging.batch_tournaments import by_size
from evaluation.judging.challengers import OUTCOMES
from evaluation.judging.equal_texts import answers_by_id, name_once, relevant_once
from evaluation.judging.pooling import ChampionQrel, pool_sizes
from evaluation.judging.tournament import Method
from evaluation.measures.named import read_measures
from evaluation.statistics.agreement import agreement, error_evidence
from evaluation.statistics.asking import settling_prospects
from evaluation.statistics.certainty import SURE, certainty, confidence_set
from evaluation.statistics.champion import champion_outcomes
from evaluation.statistics.consistency import TOP, intransitive_triples, order_agreement
from evaluation.statistics.contributions import contributions
from evaluation.statistics.correlation import kendall_tau
from evaluation.statistics.fragility import final_fragilities, fragilities
from evaluation.statistics.leaderboards import (
    Leaderboard,
    RunScore,
    agree_outside,
    common_queries,
    leaderboard,
    pairings,
    perfect_finds,
)
from evaluation.statistics.measured import Measured, measured, pair_tests, significant_tests
from evaluation.statistics.ranks import Board, Ranks
from evaluation.statistics.resampling import DRAWS
from evaluation.statistics.reversals import SHARE, SURVIVES, Reversals, reverse_judgments
from evaluation.statistics.significance import Correction, sign_test
from evaluation.statistics.winning import Wins, perfect_top, win_ratios
from judgments.quality import Behaviour
from pools.models import Campaign
from results.comparisons import choose_comparisons, compare_runs
from results.inputs import FORMAT, Inputs

ALPHA = 0.05
NAMED = 4  # pairs of runs
# What the ranking that returns the original qrel first is called, last of the names.
PERFECT = "perfect"
_NOBODY = ""  # in its place while it is computed: no run has this name

# Whether run and qrels differ, and what people preferred, in the order of the champion check's slices.
SLICES = ("they differ, the run's passage", "they differ, the qrel", "they agree, the second", "they agree, the top")

Json = dict[str, Any]


class People(NamedTuple):
    """What people said: the pools and judgments of the queries that wait for nothing, and the winners by these."""

    pools: dict[str, tuple[str, ...]]
    judgments: list[Preference]
    qrels: Sequence[tuple[str, str]]


def derive_answers(inputs: Inputs) -> People:
    """The best known answers, as the campaign's design and settings have it."""
    settled = {query: pool for query, pool in inputs.pools.items() if query not in inputs.waiting}
    judgments = [row for row in inputs.outcomes if row.query not in inputs.waiting]
    return People(settled, judgments, [row for row in inputs.derived.qrels if row[0] in settled])


def held_back(inputs: Inputs, withheld: Collection[tuple[str, str]]) -> frozenset[str]:
    """The queries with a best known answer that may not leave, given as `(query id, passage id)`."""
    if not inputs.campaign.pairing.scores_runs:
        return frozenset()
    return frozenset(query for query, passage in inputs.derived.qrels if (query, passage) in withheld)


def compute(inputs: Inputs, left_out: Collection[str] = (), *, is_release: bool = False) -> Json:
    """Everything of the results, ready for JSON. The same inputs give the same.

    `left_out` are the queries that are held back: a release is without them, and all else only counts them. What it
    says of judged pairs is of those that leave, without the runs that do not.
    """
    if is_release:
        released = _compute(inputs._replace(waiting=inputs.waiting.union(left_out)), inputs.held_back_runs)
        incomplete = released["incomplete"] - len(left_out)
        return released | {"held_back": len(left_out), "is_release": True, "incomplete": incomplete}
    return _compute(inputs._replace(withheld=frozenset())) | {"held_back": len(left_out)}


def _compute(inputs: Inputs, absent: Collection[str] = ()) -> Json:
    settled, judgments, qrels = derive_answers(inputs)
    answers = answers_by_id(qrels, inputs.stands_for, inputs.withheld)
    # As they are exported, so that scores are those of the files.
    preference = Qrels.of(Entry(query, pid, 1) for query, pids in answers.items() for pid in pids)
    data = _counts(inputs, qrels, preference) | {"quality": _quality(inputs.behaviour)}
    queries = common_queries(inputs.qrels, preference)
    if not inputs.campaign.pairing.finds_answers:
        data |= _NO_SCORES | {"champion": _champion(inputs, judgments), "agreement": _agreement(inputs)}
    elif inputs.campaign.pairing.challenges:
        data |= _NO_SCORES | {"challengers": _challengers(inputs), "agreement": _agreement(inputs)}
    else:
        data |= _scores(inputs, preference, queries, settled, judgments, absent) if queries else _NO_SCORES
    plain: Json = _plain(data)
    return plain


_NO_CERTAINTY: Json = {
    "error_rate": None, "error_source": None, "error_compared": None, "ranks": None, "stability": None,
    "resampled": None, "reversed": None,
}  # fmt: skip
_NO_SCORES: Json = {
    "leaderboard": [], "outside": None, "unreadable": [], "perfect": None, "queries_all": None,
    "tau_all": None, "tau": None, "tau_ap": None, "neighbours": [], "significance": None, "pairings": None,
    "wins": None, "comparisons": None, "compare": None, "compare_original": None, "verdicts": None, "contributions": [],
    "champion": None, "challengers": None, **_NO_CERTAINTY, "agreement": None,
    "order_agreement": [], "triples": None, "measures": None,
}  # fmt: skip


def tops(inputs: Inputs) -> dict[str, dict[str, list[str]]]:
    """By query, the runs that put each passage of its pool first, by name."""
    order = cast(Order, inputs.campaign.order)
    runs_of: dict[str, dict[str, list[str]]] = {query: {} for query in inputs.pools}
    for name, run in inputs.runs.items():
        for query, (passage,) in name_once(inputs.stands_for, run.top(order)).items():
            if passage in inputs.pools.get(query, ()):
                runs_of[query].setdefault(passage, []).append(name)
    return runs_of


def _counts(inputs: Inputs, qrels: Sequence[tuple[str, str]], preference: Qrels) -> Json:
    best: dict[str, list[str]] = {query: [] for query in preference.queries}  # by candidates
    for query, passage in qrels:
        if query in best:
            best[query].append(passage)
    min_grade = inputs.campaign.min_grade
    relevant = relevant_once(inputs.stands_for, inputs.qrels, min_grade).relevant("all", min_grade)
    outcomes = sorted(Counter(map(len, best.values())).items())
    return {
        "version": FORMAT,
        "k": inputs.k,
        "order": inputs.campaign.order,
        "min_grade": inputs.campaign.min_grade,
        "overlap": inputs.campaign.overlap,
        "design": inputs.campaign.design,
        "qrel_policy": inputs.campaign.qrel_policy,
        "seed": inputs.campaign.seed,
        "queries": len(inputs.pools),
        "sampled_from": inputs.campaign.sampled_from,
        "answered": len(best),
        "preference_qrels": sum(map(len, best.values())),
        "twins": sum(
            passage in best.get(query, ()) for query, pids in inputs.stands_for.items() for passage in pids.values()
        ),
        "incomplete": len(inputs.pools) - len(best),
        "held_back": 0,
        "held_back_runs": list(inputs.held_back_runs),
        "is_release": False,
        "pairs": inputs.pairs,
        "judgments": len(inputs.preferences),
        "adjudicated": inputs.adjudicated,
        "weighed": inputs.weighed,
        "best": {str(size): count for size, count in outcomes},
        "changed": sum(
            not set(relevant[query]).intersection(passages) for query, passages in best.items() if relevant.get(query)
        ),
        "pool_sizes": list(pool_sizes(inputs.pools).histogram.items()),
    }


def _scores(
    inputs: Inputs,
    preference: Qrels,
    queries: tuple[str, ...],
    pools: Mapping[str, tuple[str, ...]],
    judgments: Sequence[Preference],
    absent: Collection[str],
) -> Json:
    """`absent`: runs that are in no table of judged pairs."""
    campaign, order = inputs.campaign, cast(Order, inputs.campaign.order)
    correction = cast(Correction, campaign.correction)
    seed = campaign.seed % (1 << 63)
    original = Board(inputs.runs, inputs.k, order)
    board = original.with_twins(inputs.stands_for)
    qrels_once = relevant_once(inputs.stands_for, inputs.qrels, campaign.min_grade)
    everywhere = original.ranks(inputs.qrels, campaign.min_grade)
    before = everywhere.only(queries)
    after = original.ranks(preference).only(queries)
    perfect = perfect_finds(qrels_once, preference, queries, campaign.min_grade)
    scores = leaderboard(before, after, perfect, alpha=ALPHA, correction=correction, seed=seed)
    runs = sorted(board.runs, key=lambda run: (-scores.preference[run].mean, run))
    leaving = [row for row in judgments if inputs.withheld.isdisjoint(((row.query, row.a), (row.query, row.b)))]
    present = [run for run in runs if run not in absent]
    on_all = everywhere.means()
    lists = {run: inputs.runs[run].longest for run in runs}
    deep = original if campaign.compare_depth == inputs.k else Board(inputs.runs, campaign.compare_depth, order)
    choice = choose_comparisons(inputs)
    in_order = inputs.imported if choice.comparisons == Campaign.Comparisons.CHAIN else runs
    compared, compared_before = (
        compare_runs(
            choice,
            _in_order(ranks.only(queries), in_order),
            campaign=campaign,
            alpha=ALPHA,
            lists=lists,
        )
        for ranks in (
            deep.ranks(preference),
            deep.ranks(inputs.qrels, campaign.min_grade),
        )
    )
    tops = {run: name_once(inputs.stands_for, inputs.runs[run].top(order)) for run in present}
    top = perfect_top(qrels_once, campaign.min_grade)
    wins = win_ratios(
        tops | {_NOBODY: top}, list(preference.queries), leaving,
        alpha=ALPHA, correction=correction, pooled={_NOBODY, *inputs.pooled},
    )  # fmt: skip
    brought = {
        run: name_once(inputs.stands_for, inputs.runs[run].top(order, campaign.depth))
        for run in runs
        if run in inputs.pooled
    }
    # Without a run, rounds would have asked other pairs: nobody knows what would have won.
    own_contributions = [] if campaign.pairing.is_staged else contributions(
        board, brought, qrels_once, pools, judgments,
        method=cast(Method, campaign.method), policy=cast(Policy, campaign.qrel_policy), min_grade=campaign.min_grade,
    )  # fmt: skip
    certain = _certainty(inputs, board, pools, judgments, queries, runs, scores, seed)
    with_judges = {row["run"]: row for row in certain["ranks"] or ()}
    return {
        "leaderboard": [
            {
                "run": run,
                "pooled": run in inputs.pooled,
                "outside": inputs.outside[run].score if run in inputs.outside else None,
                "outside_rank": inputs.outside[run].rank if run in inputs.outside else None,
                "original_all": on_all[run],
                "original": _score_columns(scores.original[run]),
                "preference": _score_columns(scores.preference[run]),
                "corrected": with_judges[run]["corrected"] if run in with_judges else None,
                "with_judges": with_judges[run]["interval"] if run in with_judges else None,
                "place_original": scores.original[run].place,
                "place_preference": scores.preference[run].place,
            }
            for run in runs
        ],
        "outside": {
            "source": inputs.outside_source,
            "tau": agree_outside(scores, on_all, inputs.outside)._asdict(),
        }
        if inputs.outside
        else None,
        "unreadable": inputs.unreadable,
        "perfect": {"preference": _score_columns(scores.perfect_score)},
        "queries_all": len(everywhere.queries),
        "tau_all": kendall_tau([on_all[run] for run in runs], [scores.original[run].mean for run in runs]),
        "tau": scores.tau,
        "tau_ap": scores.tau_ap,
        "neighbours": [contribution._asdict() for contribution in scores.neighbours],
        "significance": {
            "alpha": scores.alpha,
            "correction": scores.correction,
            "family": len(scores.neighbours),
            "threshold": scores.threshold,
        },
        "pairings": {
            "preference": _share(pairings(preference.relevant(), leaving)),
            "original": _share(pairings(qrels_once.relevant("all", campaign.min_grade), leaving)),
        },
        "wins": _wins(wins),
        "comparisons": choice.as_dict(),
        "compare": compared.as_dict(),
        "compare_original": compared_before.as_dict(),
        "verdicts": sum_up(compared.as_dict()["pairs"], compared_before.as_dict()["pairs"]),
        "contributions": [
            {
                "run": contribution.run,
                "preference": contribution.mean,
                "without_own": contribution.mean_without,
                "change": contribution.mean_without - contribution.mean,
                "own": contribution.own,
                "won": contribution.won,
                "place": contribution.place,
                "place_without": contribution.place_without,
            }
            for contribution in sorted(own_contributions, key=lambda contribution: runs.index(contribution.run))
        ],
        "champion": None,
        "challengers": None,
        "agreement": _agreement(inputs),
        "order_agreement": [
            agreed._asdict() | {"pooled": agreed.run in inputs.pooled}
            for agreed in order_agreement(
                {run: name_once(inputs.stands_for, inputs.runs[run].top(order, TOP)) for run in present}, leaving
            )
        ],
        "triples": intransitive_triples(row for row in inputs.preferences if row.query not in inputs.waiting)._asdict(),
        "measures": _measures(inputs, preference, queries, runs),
        **certain,
    }


def _measures(inputs: Inputs, preference: Qrels, queries: tuple[str, ...], runs: Sequence[str]) -> Json | None:
    """What the runs score by the campaign's other measures, on both qrels over the queries that both name, of which
    `queries` count for the run; and tests of runs that follow each other on the original qrels. None without such
    measures.

    All preference qrels are relevant, whatever the grade that a measure wants of the original ones.
    """
    campaign, order = inputs.campaign, cast(Order, inputs.campaign.order)
    measures, correction = read_measures(campaign.measures), cast(Correction, campaign.correction)
    if not measures:
        return None
    graded = [measure._replace(rel=campaign.min_grade) if measure.rel == 1 else measure for measure in measures]
    plain = [measure._replace(rel=1) for measure in measures]
    before = measured(inputs.runs, inputs.qrels, graded, order)
    after = measured(inputs.runs, preference, plain, order)
    rows: list[Json] = [{"run": run, "scores": []} for run in runs]
    tests: list[Json] = []
    for measure, by_grade, alone in zip(measures, graded, plain, strict=True):
        both = original, best = before[by_grade].only(queries), after[alone].only(queries)
        means = [scores.means() for scores in both]
        counts = [scores.counted() for scores in both]
        intervals = [dict(zip(scores.runs, scores.t_intervals(), strict=True)) for scores in both]
        for row in rows:
            run = row["run"]
            row["scores"].append(
                {
                    "original": {"mean": means[0][run], "t": intervals[0][run], "queries": counts[0][run]},
                    "preference": {"mean": means[1][run], "t": intervals[1][run], "queries": counts[1][run]},
                }
            )
        if measure.kind != "Judged":
            in_order = sorted(runs, key=lambda run: (-means[0][run], run))
            tests += _measure_tests(str(measure), original, best, in_order, correction)
    return {
        "names": [str(measure) for measure in measures],
        "alpha": ALPHA,
        "correction": correction,
        "runs": rows,
        "tests": tests,
    }


def _measure_tests(
    name: str, original: Measured, best: Measured, order: Sequence[str], correction: Correction
) -> list[Json]:
    """Each run against the next one in the order that the original qrels give by the measure."""
    pairs = [(lower, upper) for upper, lower in pairwise(order)]
    before, after = pair_tests(original, pairs), pair_tests(best, pairs)
    _thresholds, winners = significant_tests(after, ALPHA, correction)
    return [
        {
            "measure": name,
            "upper": upper,
            "lower": lower,
            "original_delta": was.delta,
            "preference_delta": now.delta,
            "preference_interval": now.delta_interval,
            "changed": was.delta > 0 > now.delta,
            "higher": now.higher,
            "lower_on": now.lower,
            "wsr": now.wsr,
            "t": now.t,
            "significant": winner["wsr"] is not None,
        }
        for (lower, upper), was, now, winner in zip(pairs, before, after, winners, strict=True)
    ]


def _champion(inputs: Inputs, judgments: Sequence[Preference]) -> Json:
    campaign = inputs.campaign
    (run,) = inputs.runs.values()
    judged = Qrels({query: grades for query, grades in inputs.qrels.grades.items() if query in inputs.pools})
    outcomes = champion_outcomes(
        name_once(inputs.stands_for, run.top(cast(Order, campaign.order), campaign.pairing.run_depth)),
        relevant_once(inputs.stands_for, judged, campaign.min_grade),
        judgments,
        min_grade=campaign.min_grade,
        choice=cast(ChampionQrel, campaign.champion_qrel),
    )
    decided = sum(outcomes.slices())
    return {
        **{
            name: {
                "for_qrel": half.qrel,
                "against": half.other,
                "undecided": half.undecided,
                "queries": half.queries,
                "share": half.other_share,
                "interval": half.interval(),
                "p": half.p,
            }
            for name, half in (("a", outcomes.a), ("b", outcomes.b))
        },
        "slices": [
            {"name": name, "share": count / decided if decided else None}
            for name, count in zip(SLICES, outcomes.slices(), strict=True)
        ],
        "run": next(iter(inputs.runs)),
        "qrel": campaign.champion_qrel,
        "split": campaign.champion_split,
        "unjudged": outcomes.unjudged,
        "crowd_error": outcomes.crowd_error,
    }


def _challengers(inputs: Inputs) -> Json:
    """What became of each challenger, by query and, of those that they brought, by run.

    While pairs of its query lack judgments it is `waiting`; where it is `open` after that, it takes another round.
    """
    version, outcomes = inputs.campaign.base_version, (*OUTCOMES, "waiting")
    assert version is not None
    order = cast(Order, inputs.campaign.order)
    firsts = {name: name_once(inputs.stands_for, run.top(order)) for name, run in inputs.runs.items()}
    challenges = {challenge.query: challenge for challenge in inputs.challenges}
    rows, runs = [], {name: Counter[str]() for name in inputs.runs}
    for query, pool in inputs.pools.items():
        before = inputs.challenged[query]
        challenge = challenges.get(query)
        for passage in sorted({*pool} - {*before}):
            outcome = "waiting" if challenge is None else challenge.outcome(passage)
            brought = [name for name, top in firsts.items() if passage in top.get(query, ())]
            for name in brought:
                runs[name][outcome] += 1
            best = challenge.best if challenge is not None and not challenge.missing else ()
            rows.append(
                {"qid": query, "passage": passage, "before": before, "outcome": outcome, "best": best, "runs": brought}
            )
    counts = Counter(row["outcome"] for row in rows)
    return {
        "version": version.number,
        "answered": version.queries,
        "queries": len(inputs.pools),
        "challengers": len(rows),
        "changed": sum(challenge.changed for challenge in inputs.challenges),
        "unchanged": sum(not challenge.changed and not challenge.missing for challenge in inputs.challenges),
        "missing": sum(len(challenge.missing) for challenge in inputs.challenges),
        "outcomes": {outcome: counts[outcome] for outcome in outcomes},
        "rows": rows,
        "runs": [
            {"run": name, "brought": sum(tally.values()), **{outcome: tally[outcome] for outcome in outcomes}}
            for name, tally in sorted(runs.items())
        ],
    }


def _agreement(inputs: Inputs) -> Json | None:
    answers = agreement(inputs.votes)
    return answers._asdict() if answers.pairs else None


def _certainty(
    inputs: Inputs,
    board: Board,
    pools: Mapping[str, tuple[str, ...]],
    outcomes: Sequence[Preference],
    queries: Sequence[str],
    runs: Sequence[str],
    scores: Leaderboard,
    seed: int,
) -> Json:
    """How certain ranks and best known answers are; only known for the tournament of all pairs, and for rounds. What
    varies is what workers judged, on adjudicated pairs too: one person's decision says nothing of how sure people are.

    People err at the campaign's error rate, or else as the judgments say.
    """
    is_in_rounds = inputs.campaign.pairing.is_staged
    if inputs.campaign.method != Campaign.Method.TOURNAMENT and not is_in_rounds:
        return _NO_CERTAINTY
    entered = inputs.campaign.error_rate
    judgments = [row for row in inputs.preferences if row.query not in inputs.waiting]
    source, compared = error_evidence(judgments, is_given=entered is not None)
    is_imported = inputs.campaign.is_imported
    done = {query: inputs.rounds[query] for query in pools} if is_in_rounds else {}
    result = certainty(
        pools, judgments, board=board, error_rate=None if entered is None else float(entered), seed=seed,
        counted=outcomes, allow_incomplete=is_imported,
        best={query: status.winners for query, status in done.items()} if is_in_rounds else None,
    )  # fmt: skip
    # Of rounds, the final is played with reversed judgments: who reached it is taken as it was.
    played = {query: done[query].playing if is_in_rounds else pools[query] for query in result.answers}
    rows = [row for row in outcomes if {row.a, row.b}.issubset(played.get(row.query, ()))]
    if is_in_rounds:
        fragile = final_fragilities(done, rows)
    else:
        fragile = {query: value for group in by_size(played, rows) for query, value in fragilities(group).items()}
    turned = reverse_judgments(played, rows, board=board, queries=queries, seed=seed, again=not is_in_rounds)
    sets = {query: confidence_set(chances) for query, chances in result.chances.items()}
    finals = {query: set(played[query]) for query in played} if is_in_rounds else None
    prospects = {} if is_imported else settling_prospects(
        pools, judgments, sets, judging=result.judging, seed=seed, finals=finals
    )  # fmt: skip
    judged = {row.query for row in judgments}
    stability: list[Json] = []
    for query, shares in result.answers.items():
        if query not in judged:
            continue
        chances, likely = result.chances[query], sets[query]
        stability.append(
            {
                "qid": query,
                "best": sorted(shares),
                "share": sum(shares.values()),
                "fragility": fragile[query].judgments,
                "exact": fragile[query].exact,
                "set": likely,
                "also": sorted(twin for twin, passage in inputs.stands_for.get(query, {}).items() if passage in likely),
                "survives": turned.answers[query],
                "further": {number: prospect._asdict() for number, prospect in prospects.get(query, {}).items()},
                "passages": [{"passage": passage, "p": p} for passage, p in chances.items()],
            }
        )
        if is_in_rounds:
            stability[-1]["final"] = list(played[query])
    return {
        "error_rate": result.error_rate,
        "error_source": source,
        "error_compared": compared,
        "ranks": [
            {
                "run": ranks.run,
                "low": ranks.first_place,
                "median": ranks.middle_place,
                "high": ranks.last_place,
                "first": ranks.first,
                "interval": ranks.interval,
                "corrected": ranks.corrected,
            }
            for ranks in sorted(result.runs, key=lambda ranks: runs.index(ranks.run))
        ],
        "stability": stability,
        "resampled": {
            "answers": len(stability),
            "unsure": sum(answer["share"] < SURE for answer in stability),
            "settled": sum(len(answer["set"]) == 1 for answer in stability),
            "fragile": sum(answer["fragility"] == 1 for answer in stability),
        },
        "reversed": _reversed(turned, board, runs, scores),
    }


def _reversed(turned: Reversals, board: Board, runs: Sequence[str], scores: Leaderboard) -> Json:
    """Which conclusions survive if some judgments are reversed: the first run, each two neighbours on the preference
    qrels, those that changed order against the original ones, and the best known answers.
    """
    at = {run: number for number, run in enumerate(board.runs)}
    means = {run: score.mean for run, score in scores.preference.items()}
    rows: list[Json] = []
    if turned.means is not None and len(runs) > 1:
        rows.append({"kind": "first", "upper": runs[0], "lower": None, "share": turned.first(at[runs[0]])})
        pairs = [("order", *pair) for pair in pairwise(runs)]
        pairs += [("changed", two.lower, two.upper) for two in scores.neighbours if two.changed]
        rows += [
            {"kind": kind, "upper": upper, "lower": lower, "share": turned.above(at[upper], at[lower])}
            for kind, upper, lower in pairs
            if means[upper] > means[lower]
        ]
    answers = turned.answers.values()
    return {
        "share": SHARE,
        "draws": DRAWS,
        "survives": SURVIVES,
        "conclusions": rows,
        "answers": len(answers),
        "answers_survive": sum(share >= SURVIVES for share in answers),
        "answers_share": sum(answers) / len(answers) if answers else None,
    }


def sum_up(pairs: Sequence[Json], before: Sequence[Json]) -> Json:
    """What the comparisons of two runs come to, all together; `before` are those on the original qrels.

    Of pairs that a sentence names, there is the number and the first few.
    """
    verdicts = [pair["verdict"] for pair in pairs]
    return {
        "pairs": len(pairs),
        "strict": sum(verdict["strict"] is not None for verdict in verdicts),
        "strict_before": sum(pair["verdict"]["strict"] is not None for pair in before),
        "harmless": sum(verdict["do_no_harm"] is not None for verdict in verdicts),
        "only_better": sum(
            bool(verdict["better"] and not verdict["do_no_harm"] and not verdict["trade_off"]) for verdict in verdicts
        ),
        "trade_offs": _named([pair for pair in pairs if pair["verdict"]["trade_off"]]),
        "means_disagree": _named([pair for pair in pairs if pair["disagreement"] == "means"]),
        "significance_disagrees": _named([pair for pair in pairs if pair["disagreement"] == "significance"]),
    }


def _named(pairs: Sequence[Json]) -> Json:
    return {"count": len(pairs), "first": [{"a": pair["a"], "b": pair["b"]} for pair in pairs[:NAMED]]}


def _in_order(ranks: Ranks, runs: Sequence[str]) -> Ranks:
    rows = [ranks.runs.index(run) for run in runs]
    return Ranks(ranks.k, tuple(runs), ranks.queries, ranks.places[rows])


def _score_columns(score: RunScore) -> Json:
    return {"mean": score.mean, "t": score.t, "bootstrap": score.bootstrap}


def _share(pairing: Any) -> Json:
    return {"won": pairing.wins, "of": pairing.pairings, "share": pairing.share}


def _wins(wins: Wins) -> Json:
    """As square tables, rows against columns. `of` leaves out what was undecided; the diagonal of `p` is null."""
    size = len(wins.runs)
    at = {run: number for number, run in enumerate(wins.runs)}
    won, of = ([[0] * size for _ in range(size)] for _ in range(2))
    p: list[list[float | None]] = [[None] * size for _ in range(size)]
    for meeting in wins.meetings:
        a, b = at[meeting.a], at[meeting.b]
        won[a][b], won[b][a] = meeting.a_wins, meeting.b_wins
        of[a][b] = of[b][a] = meeting.a_wins + meeting.b_wins
        p[a][b] = p[b][a] = meeting.p
    names = [name or PERFECT for name in wins.runs]
    beats, clearly = wins.wins(), wins.significant_wins()
    return {
        "names": names,
        "won": won,
        "of": of,
        "p": p,
        "alpha": wins.alpha,
        "correction": wins.correction,
        "family": len(wins.meetings),
        "threshold": wins.threshold,
        "row": [
            {
                "name": names[row],
                "won": sum(won[row]),
                "of": sum(of[row]),
                "share": sum(won[row]) / sum(of[row]) if sum(of[row]) else None,
                "beats": beats[run],
                "beats_significantly": clearly[run],
            }
            for run, row in at.items()
        ],
        "apart": [run._asdict() for run in wins.apart],
    }


def _quality(behaviour: Behaviour) -> Json:
    judged = behaviour.left + behaviour.right
    return {
        "tests": behaviour.tests,
        "tests_passed": behaviour.passed,
        "left_share": behaviour.left / judged if judged else None,
        "left_p": float(sign_test([behaviour.left], [behaviour.right])[0]) if judged else None,
        "seconds_median": behaviour.seconds,
        "positions": [
            [position.position, position.passed / position.tests if position.tests else None, position.seconds]
            for position in behaviour.positions
        ],
    }


def _plain(value: Any) -> Any:
    """The same in lists, dictionaries with text keys and plain numbers; what is not a number is None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return value
