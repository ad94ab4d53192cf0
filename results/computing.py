"""The results of a campaign as data: a pure function of the inputs, all mathematics being evaluation's."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
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
from evaluation.statistics.winning import Wins as Won
from evaluation.statistics.winning import perfect_top, win_ratios
from judgments.quality import Behaviour
from pools.models import Campaign
from results.comparisons import choose_comparisons, compare_runs
from results.inputs import Inputs
from results.sections.certainty import Answer, Chance, Conclusion, Kind, Rank, Resampled, Reversed
from results.sections.challengers import Brought, Challengers, Outcomes
from results.sections.challengers import Row as Challenger
from results.sections.champion import Category, Champion, Slice
from results.sections.compared import Chosen, Comparison, Named, Names, Pair, Verdicts
from results.sections.crowd import Quality
from results.sections.leaderboard import Entry as BoardEntry
from results.sections.leaderboard import Family, Outside, Pairing, Pairings, Perfect, Score
from results.sections.measures import Mean, Measures, Row, Scores, Test
from results.sections.passages import Agreed, Contribution
from results.sections.stored import from_json, to_json
from results.sections.whole import Results, read
from results.sections.wins import PERFECT, Total, Wins

ALPHA = 0.05
NAMED = 4  # pairs of runs
_NOBODY = ""  # in its place while it is computed: no run has this name

# Whether run and qrels differ, and what people preferred, in the order of the champion check's slices.
SLICES = ("they differ, the run's passage", "they differ, the qrel", "they agree, the second", "they agree, the top")


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


def compute(inputs: Inputs, left_out: Collection[str] = (), *, is_release: bool = False) -> Results:
    """Everything of the results, as it is stored. The same inputs give the same.

    `left_out` are the queries that are held back: a release is without them, and all else only counts them. What it
    says of judged pairs is of those that leave, without the runs that do not.
    """
    if is_release:
        released = _compute(inputs._replace(waiting=inputs.waiting.union(left_out)), inputs.held_back_runs)
        incomplete = released.incomplete - len(left_out)
        return replace(released, held_back=len(left_out), is_release=True, incomplete=incomplete)
    return replace(_compute(inputs._replace(withheld=frozenset())), held_back=len(left_out))


def _compute(inputs: Inputs, absent: Collection[str] = ()) -> Results:
    settled, judgments, qrels = derive_answers(inputs)
    answers = answers_by_id(qrels, inputs.stands_for, inputs.withheld)
    # As they are exported, so that scores are those of the files.
    preference = Qrels.of(Entry(query, pid, 1) for query, pids in answers.items() for pid in pids)
    data = _counts(inputs, qrels, preference)
    queries = common_queries(inputs.qrels, preference)
    if not inputs.campaign.pairing.finds_answers:
        data = replace(data, champion=_champion(inputs, judgments))
    elif inputs.campaign.pairing.challenges:
        data = replace(data, challengers=_challengers(inputs))
    elif queries:
        data = _scores(data, inputs, preference, queries, settled, judgments, absent)
    else:
        data = replace(data, agreement=None)
    return read(to_json(data))


def tops(inputs: Inputs) -> dict[str, dict[str, list[str]]]:
    """By query, the runs that put each passage of its pool first, by name."""
    order = cast(Order, inputs.campaign.order)
    runs_of: dict[str, dict[str, list[str]]] = {query: {} for query in inputs.pools}
    for name, run in inputs.runs.items():
        for query, (passage,) in name_once(inputs.stands_for, run.top(order)).items():
            if passage in inputs.pools.get(query, ()):
                runs_of[query].setdefault(passage, []).append(name)
    return runs_of


def _counts(inputs: Inputs, qrels: Sequence[tuple[str, str]], preference: Qrels) -> Results:
    best: dict[str, list[str]] = {query: [] for query in preference.queries}  # by candidates
    for query, passage in qrels:
        if query in best:
            best[query].append(passage)
    min_grade = inputs.campaign.min_grade
    relevant = relevant_once(inputs.stands_for, inputs.qrels, min_grade).relevant("all", min_grade)
    outcomes = sorted(Counter(map(len, best.values())).items())
    return Results(
        k=inputs.k,
        order=inputs.campaign.order,
        min_grade=inputs.campaign.min_grade,
        overlap=inputs.campaign.overlap,
        design=inputs.campaign.design,
        qrel_policy=inputs.campaign.qrel_policy,
        seed=inputs.campaign.seed,
        queries=len(inputs.pools),
        sampled_from=inputs.campaign.sampled_from,
        answered=len(best),
        preference_qrels=sum(map(len, best.values())),
        twins=sum(
            passage in best.get(query, ()) for query, pids in inputs.stands_for.items() for passage in pids.values()
        ),
        incomplete=len(inputs.pools) - len(best),
        held_back_runs=list(inputs.held_back_runs),
        pairs=inputs.pairs,
        judgments=len(inputs.preferences),
        adjudicated=inputs.adjudicated,
        weighed=inputs.weighed,
        best=dict(outcomes),
        changed=sum(
            not set(relevant[query]).intersection(passages) for query, passages in best.items() if relevant.get(query)
        ),
        pool_sizes=list(pool_sizes(inputs.pools).histogram.items()),
        quality=_quality(inputs.behaviour),
        agreement=answers if (answers := agreement(inputs.votes)).pairs else None,
    )


def _scores(
    data: Results,
    inputs: Inputs,
    preference: Qrels,
    queries: tuple[str, ...],
    pools: Mapping[str, tuple[str, ...]],
    judgments: Sequence[Preference],
    absent: Collection[str],
) -> Results:
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
    data = _certainty(data, inputs, board, pools, judgments, queries, runs, scores, seed)
    with_judges = {row.run: row for row in data.ranks or ()}
    entries = []
    for run in runs:
        outside, judged = inputs.outside.get(run), with_judges.get(run)
        was, now = scores.original[run], scores.preference[run]
        entries.append(
            BoardEntry(
                run=run,
                pooled=run in inputs.pooled,
                outside=outside.score if outside else None,
                outside_rank=outside.rank if outside else None,
                original_all=on_all[run],
                original=_score(was),
                preference=_score(now),
                corrected=judged.corrected if judged else None,
                with_judges=judged.interval if judged else None,
                place_original=was.place,
                place_preference=now.place,
            )
        )
    compare, compare_original = (from_json(Comparison, part.as_dict()) for part in (compared, compared_before))
    return replace(
        data,
        leaderboard=entries,
        outside=Outside(inputs.outside_source, agree_outside(scores, on_all, inputs.outside))
        if inputs.outside
        else None,
        unreadable=list(inputs.unreadable),
        perfect=Perfect(_score(scores.perfect_score)),
        queries_all=len(everywhere.queries),
        tau_all=kendall_tau([on_all[run] for run in runs], [scores.original[run].mean for run in runs]),
        tau=scores.tau,
        tau_ap=scores.tau_ap,
        neighbours=list(scores.neighbours),
        significance=Family(scores.alpha, scores.correction, len(scores.neighbours), scores.threshold),
        pairings=Pairings(
            _share(pairings(preference.relevant(), leaving)),
            _share(pairings(qrels_once.relevant("all", campaign.min_grade), leaving)),
        ),
        wins=_wins(wins),
        comparisons=Chosen(choice.comparisons, choice.baseline, choice.teams_apart, choice.missing),
        compare=compare,
        compare_original=compare_original,
        verdicts=sum_up(compare.pairs, compare_original.pairs),
        contributions=[
            Contribution(
                run=contribution.run,
                preference=contribution.mean,
                without_own=contribution.mean_without,
                change=contribution.mean_without - contribution.mean,
                own=contribution.own,
                won=contribution.won,
                place=contribution.place,
                place_without=contribution.place_without,
            )
            for contribution in sorted(own_contributions, key=lambda contribution: runs.index(contribution.run))
        ],
        order_agreement=[
            Agreed(*agreed, pooled=agreed.run in inputs.pooled)
            for agreed in order_agreement(
                {run: name_once(inputs.stands_for, inputs.runs[run].top(order, TOP)) for run in present}, leaving
            )
        ],
        triples=intransitive_triples(row for row in inputs.preferences if row.query not in inputs.waiting),
        measures=_measures(inputs, preference, queries, runs),
    )


def _measures(inputs: Inputs, preference: Qrels, queries: tuple[str, ...], runs: Sequence[str]) -> Measures | None:
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
    rows = [Row(run, []) for run in runs]
    tests: list[Test] = []
    for measure, by_grade, alone in zip(measures, graded, plain, strict=True):
        both = original, best = before[by_grade].only(queries), after[alone].only(queries)
        by_qrels = [_means(scores) for scores in both]
        for row in rows:
            row.scores.append(Scores(*(means[row.run] for means in by_qrels)))
        if measure.kind != "Judged":
            original_means = original.means()
            in_order = sorted(runs, key=lambda run: (-original_means[run], run))
            tests += _measure_tests(str(measure), original, best, in_order, correction)
    return Measures([str(measure) for measure in measures], ALPHA, correction, rows, tests)


def _means(scores: Measured) -> dict[str, Mean]:
    means, counts = scores.means(), scores.counted()
    intervals = zip(scores.runs, scores.t_intervals(), strict=True)
    return {run: Mean(means[run], interval, counts[run]) for run, interval in intervals}


def _measure_tests(
    name: str, original: Measured, best: Measured, order: Sequence[str], correction: Correction
) -> list[Test]:
    """Each run against the next one in the order that the original qrels give by the measure."""
    pairs = [(lower, upper) for upper, lower in pairwise(order)]
    before, after = pair_tests(original, pairs), pair_tests(best, pairs)
    _thresholds, winners = significant_tests(after, ALPHA, correction)
    return [
        Test(
            measure=name,
            upper=upper,
            lower=lower,
            original_delta=was.delta,
            preference_delta=now.delta,
            preference_interval=now.delta_interval,
            changed=was.delta > 0 > now.delta,
            higher=now.higher,
            lower_on=now.lower,
            wsr=now.wsr,
            t=now.t,
            significant=winner["wsr"] is not None,
        )
        for (lower, upper), was, now, winner in zip(pairs, before, after, winners, strict=True)
    ]


def _champion(inputs: Inputs, judgments: Sequence[Preference]) -> Champion:
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
    a, b = (
        Category(half.qrel, half.other, half.undecided, half.queries, half.other_share, half.interval(), half.p)
        for half in (outcomes.a, outcomes.b)
    )
    return Champion(
        a=a,
        b=b,
        slices=[
            Slice(name, count / decided if decided else None)
            for name, count in zip(SLICES, outcomes.slices(), strict=True)
        ],
        run=next(iter(inputs.runs)),
        qrel=campaign.champion_qrel,
        split=campaign.champion_split,
        unjudged=outcomes.unjudged,
        crowd_error=outcomes.crowd_error,
    )


def _challengers(inputs: Inputs) -> Challengers:
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
            rows.append(Challenger(query, passage, list(before), outcome, list(best), brought))
    counts = Counter(row.outcome for row in rows)
    return Challengers(
        version=version.number,
        answered=version.queries,
        queries=len(inputs.pools),
        challengers=len(rows),
        changed=sum(challenge.changed for challenge in inputs.challenges),
        unchanged=sum(not challenge.changed and not challenge.missing for challenge in inputs.challenges),
        missing=sum(len(challenge.missing) for challenge in inputs.challenges),
        outcomes=Outcomes(**{outcome: counts[outcome] for outcome in outcomes}),
        rows=rows,
        runs=[
            Brought(run=name, brought=sum(tally.values()), **{outcome: tally[outcome] for outcome in outcomes})
            for name, tally in sorted(runs.items())
        ],
    )


def _certainty(
    data: Results,
    inputs: Inputs,
    board: Board,
    pools: Mapping[str, tuple[str, ...]],
    outcomes: Sequence[Preference],
    queries: Sequence[str],
    runs: Sequence[str],
    scores: Leaderboard,
    seed: int,
) -> Results:
    """How certain ranks and best known answers are; only known for the tournament of all pairs, and for rounds. What
    varies is what workers judged, on adjudicated pairs too: one person's decision says nothing of how sure people are.

    People err at the campaign's error rate, or else as the judgments say.
    """
    is_in_rounds = inputs.campaign.pairing.is_staged
    if inputs.campaign.method != Campaign.Method.TOURNAMENT and not is_in_rounds:
        return data
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
    stability: list[Answer] = []
    for query, shares in result.answers.items():
        if query not in judged:
            continue
        chances, likely = result.chances[query], sets[query]
        stability.append(
            Answer(
                qid=query,
                best=sorted(shares),
                share=sum(shares.values()),
                fragility=fragile[query].judgments,
                exact=fragile[query].exact,
                set=likely,
                also=sorted(twin for twin, passage in inputs.stands_for.get(query, {}).items() if passage in likely),
                survives=turned.answers[query],
                further=prospects.get(query, {}),
                passages=[Chance(passage, p) for passage, p in chances.items()],
                final=list(played[query]) if is_in_rounds else None,
            )
        )
    return replace(
        data,
        error_rate=result.error_rate,
        error_source=source,
        error_compared=compared,
        ranks=[
            Rank(
                run=ranks.run,
                low=ranks.first_place,
                median=ranks.middle_place,
                high=ranks.last_place,
                first=ranks.first,
                interval=ranks.interval,
                corrected=ranks.corrected,
            )
            for ranks in sorted(result.runs, key=lambda ranks: runs.index(ranks.run))
        ],
        stability=stability,
        resampled=Resampled(
            answers=len(stability),
            unsure=sum(answer.share < SURE for answer in stability),
            settled=sum(len(answer.set) == 1 for answer in stability),
            fragile=sum(answer.fragility == 1 for answer in stability),
        ),
        reversed=_reversed(turned, board, runs, scores),
    )


def _reversed(turned: Reversals, board: Board, runs: Sequence[str], scores: Leaderboard) -> Reversed:
    """Which conclusions survive if some judgments are reversed: the first run, each two neighbours on the preference
    qrels, those that changed order against the original ones, and the best known answers.
    """
    at = {run: number for number, run in enumerate(board.runs)}
    means = {run: score.mean for run, score in scores.preference.items()}
    rows: list[Conclusion] = []
    if turned.means is not None and len(runs) > 1:
        rows.append(Conclusion("first", runs[0], None, turned.first(at[runs[0]])))
        pairs: list[tuple[Kind, str, str]] = [("order", *pair) for pair in pairwise(runs)]
        pairs += [("changed", two.lower, two.upper) for two in scores.neighbours if two.changed]
        rows += [
            Conclusion(kind, upper, lower, turned.above(at[upper], at[lower]))
            for kind, upper, lower in pairs
            if means[upper] > means[lower]
        ]
    answers = turned.answers.values()
    return Reversed(
        share=SHARE,
        draws=DRAWS,
        survives=SURVIVES,
        conclusions=rows,
        answers=len(answers),
        answers_survive=sum(share >= SURVIVES for share in answers),
        answers_share=sum(answers) / len(answers) if answers else None,
    )


def sum_up(pairs: Sequence[Pair], before: Sequence[Pair]) -> Verdicts:
    """What the comparisons of two runs come to, all together; `before` are those on the original qrels.

    Of pairs that a sentence names, there is the number and the first few.
    """
    verdicts = [pair.verdict for pair in pairs]
    return Verdicts(
        pairs=len(pairs),
        strict=sum(verdict.strict is not None for verdict in verdicts),
        strict_before=sum(pair.verdict.strict is not None for pair in before),
        harmless=sum(verdict.do_no_harm is not None for verdict in verdicts),
        only_better=sum(
            bool(verdict.better and not verdict.do_no_harm and not verdict.trade_off) for verdict in verdicts
        ),
        trade_offs=_named([pair for pair in pairs if pair.verdict.trade_off]),
        means_disagree=_named([pair for pair in pairs if pair.disagreement == "means"]),
        significance_disagrees=_named([pair for pair in pairs if pair.disagreement == "significance"]),
    )


def _named(pairs: Sequence[Pair]) -> Named:
    return Named(len(pairs), [Names(pair.a, pair.b) for pair in pairs[:NAMED]])


def _in_order(ranks: Ranks, runs: Sequence[str]) -> Ranks:
    rows = [ranks.runs.index(run) for run in runs]
    return Ranks(ranks.k, tuple(runs), ranks.queries, ranks.places[rows])


def _score(score: RunScore) -> Score:
    return Score(score.mean, score.t, score.bootstrap)


def _share(pairing: Any) -> Pairing:
    return Pairing(pairing.wins, pairing.pairings, pairing.share)


def _wins(wins: Won) -> Wins:
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
    return Wins(
        names=names,
        won=won,
        of=of,
        p=p,
        alpha=wins.alpha,
        correction=wins.correction,
        family=len(wins.meetings),
        threshold=wins.threshold,
        row=[
            Total(
                name=names[row],
                won=sum(won[row]),
                of=sum(of[row]),
                share=sum(won[row]) / sum(of[row]) if sum(of[row]) else None,
                beats=beats[run],
                beats_significantly=clearly[run],
            )
            for run, row in at.items()
        ],
        apart=list(wins.apart),
    )


def _quality(behaviour: Behaviour) -> Quality:
    judged = behaviour.left + behaviour.right
    return Quality(
        tests=behaviour.tests,
        tests_passed=behaviour.passed,
        left_share=behaviour.left / judged if judged else None,
        left_p=float(sign_test([behaviour.left], [behaviour.right])[0]) if judged else None,
        seconds_median=behaviour.seconds,
        positions=[
            (position.position, position.passed / position.tests if position.tests else None, position.seconds)
            for position in behaviour.positions
        ],
    )
