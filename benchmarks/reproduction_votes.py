"""Tables and figures of Lee (2026), "How Many Human Judgments Are Enough?", beside those of data at hand."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction_sections import Json, Paper, Row, Section, figure, plain

NAME = "how-many-human-judgments"
MT_BENCH = "mt_bench_human.csv"
PESSIMISTIC = f"bonwise preferences {MT_BENCH} --ties pessimistic"
DROP = f"bonwise preferences {MT_BENCH} --ties drop"
HALF = f"bonwise preferences {MT_BENCH} --ties half"
NO_ARENA = (
    "Votes of Chatbot Arena are not among the data at hand, so its rows stay out. The same command reads them: "
    "one row per vote with the two models, the winner and the question."
)
ENCODING = (
    "The paper says that ties are dropped. Its figures for MT-Bench are those of ties against the first model "
    "(`--ties pessimistic`), to the last digit; dropped, the margins are larger."
)


def quantiles(pessimistic: Json, drop: Json) -> Iterator[Row]:
    """Return quantiles of the margins, and the votes that they take."""
    theirs = (("p10", "0.047", "1175"), ("p25", "0.187", "75"), ("p50", "0.285", "32"))
    for (name, margin, votes), first, second in zip(theirs, pessimistic["margins"], drop["margins"], strict=True):
        yield f"MT-Bench, {name} of the margin", margin, f"{first['estimate']:.3f}"
        yield f"MT-Bench, {name}, votes at the 5% level", votes, f"{first['votes_needed']['0.05']['whole']}"
        ours = f"{second['estimate']:.3f}, {second['votes_needed']['0.05']['whole']} votes"
        yield f"MT-Bench, {name}, ties dropped", "said to be this one", ours


def needed_votes(study: Json) -> Iterator[Row]:
    """Return the votes of the three closest pairs."""
    for pair in sorted(study["pairs"], key=lambda each: abs(each["margin"]))[:3]:
        called = f"{pair['first']} and {pair['second']}, margin {abs(pair['margin']):.3f}"
        by_line = f"{2.6268 / pair['margin'] ** 2:,.0f} by equation 8"
        yield called, by_line, f"{pair['votes_needed']['0.05']['whole']:,}"


def resampled(study: Json) -> Iterator[Row]:
    """Return intervals of the quantiles."""
    theirs = (("p10", "0.047 [0.007, 0.230]"), ("p25", "0.187 [0.037, 0.285]"), ("p50", "0.285 [0.181, 0.403]"))
    for (name, value), margin in zip(theirs, study["margins"], strict=True):
        yield f"MT-Bench, {name}", value, figure(margin)


def near_ties(study: Json) -> Iterator[Row]:
    """Return how many pairs are near ties, and the votes for their median."""
    near = study["near_ties"]
    yield "MT-Bench, pairs with a margin of at most 0.10", "3", str(near["count"])
    yield "MT-Bench, share of the pairs", "0.200", figure(near["share"])
    yield "MT-Bench, their median margin", "0.037", figure(near["median"])
    yield "MT-Bench, votes for it", "1878", str(near["votes_needed"]["0.05"]["whole"])


def ties(drop: Json, half: Json, pessimistic: Json) -> Iterator[Row]:
    """Return the smallest tenth of the margins under three encodings of ties."""
    theirs = (("drop", "0.133, 186 votes"), ("half", "0.105, 300 votes"), ("pessimistic", "0.093, 385 votes"))
    for (encoding, value), study in zip(theirs, (drop, half, pessimistic), strict=True):
        margin = study["margins"][0]
        ours = f"{margin['estimate']:.3f}, {margin['votes_needed']['0.05']['whole']} votes"
        yield f"p10 of the margin, {encoding} (theirs: Arena, ours: MT-Bench)", value, ours
    yield "median tie rate (Arena there)", "11.4%", figure(drop["ties"]["median"], "share")
    yield "correlation of tie rate and margin", "-0.575", figure(drop["ties"]["correlation_with_margin"])


def same_votes(study: Json) -> Iterator[Row]:
    """Return z at equal numbers of votes."""
    theirs = {50: ("1.44", "6.56"), 100: ("2.47", "9.27")}
    for row in study["z"]:
        if row["drawn"] == "without_replacement" and row["votes"] in theirs:
            least, median = theirs[row["votes"]]
            yield f"MT-Bench, {row['votes']} votes, p10 of z", least, figure(row["p10"], digits=2)
            yield f"MT-Bench, {row['votes']} votes, median z", median, figure(row["median"], digits=2)


def correlated(*plans: Json) -> Iterator[Row]:
    """Return votes that resemble each other."""
    theirs = ("26", "26", "26", "34", "1051", "1174", "more than 10000", "more than 10000")
    for plan, value in zip(plans, theirs, strict=True):
        settings = plan["settings"]
        called = f"margin {settings['effect']:g}, correlation {settings['icc']:g}"
        yield called, value, "none: infeasible" if plan["labels"] is None else f"{plan['labels']:,}"


def worked(plan: Json) -> Iterator[Row]:
    """Return the worked example."""
    yield "votes for 28 of 50", "731", f"{plan['labels']:,}"
    yield "verdict with 500 votes", "underpowered", plan["verdict"]


def within_prompts(study: Json) -> Iterator[Row]:
    """Return the parts of the variance of a prompt's share of votes."""
    variance = study["variance"]
    yield "MT-Bench, between prompts", "0.066", figure(variance["between"])
    yield "MT-Bench, within prompts", "0.015", figure(variance["within"])


def clusters(study: Json) -> Iterator[Row]:
    """Return by how much prompts with several votes inflate a standard error."""
    yield "standard error, clustered over not (Arena there)", "1.000", figure(study["cluster_ratio"]["median"])


def most_alike(study: Json) -> Iterator[Row]:
    """Return how often more votes find a near tie."""
    for row in study["detection"]:
        if row["drawn"] == "with_replacement" and row["votes"] in {50, 100, 500}:
            powerful = f"{row['pairs_with_power']} of {row['pairs']} pairs with a power of 0.9"
            yield f"MT-Bench, {row['votes']} votes", "curves without numbers", powerful


def screened(*plans: Json) -> Iterator[Row]:
    """Return power, overlap and mass of both allocations."""
    for name, plan in zip(("concentrated", "diffuse"), plans, strict=True):
        here = plan["screening"]["here"]["simulated"]
        better = "two stages higher" if name == "concentrated" else "in proportion higher"
        both = f"{plain(here['proportional'])} / {plain(here['two_stage'])}"
        yield f"{name}, power in proportion / two stages", better, both
        yield f"{name}, overlap with the best fifth", "limited, noisy", plain(here["overlap"])
        mass = "above the fifth" if name == "concentrated" else "the fifth that is kept"
        yield f"{name}, signal that is kept", mass, plain(here["mass_kept"])
        nothing = plan["screening"]["null"]
        rates = f"{plain(nothing['proportional'])} / {plain(nothing['two_stage'])}"
        yield f"{name}, rejections without a preference on average", "not shown", rates


def replayed(plan: Json) -> Iterator[Row]:
    """Return the replay on the pilot's votes."""
    for name, theirs in (("proportional", "0.067"), ("two_stage", "0.081")):
        rates = [pair[name] for pair in plan["pairs"] if pair.get(name) is not None]
        yield f"{name.replace('_', ' ')}, mean power of {len(rates)} pairs", theirs, plain(sum(rates) / len(rates))


def compared(study: Json) -> Iterator[Row]:
    """Return variances of win rates in two files."""
    against = study["against"]
    for part in ("between", "within"):
        yield f"people, {part} prompts", {"between": "0.066", "within": "0.015"}[part], figure(against["here"][part])
        yield (
            f"GPT-4, {part} prompts (Arena there)",
            {"between": "0.102", "within": "0.000"}[part],
            figure(against["there"][part]),
        )
    yield "ratio of the variances between prompts", "1.49", figure(against["ratio"])


def steady(study: Json) -> Iterator[Row]:
    """Return early margins against late ones."""
    stability = study["stability"]
    yield "early 50 against all (Arena there)", "0.93", figure(stability["early_all"])
    yield "early 50 against late 50", "points without a number", figure(stability["early_late"])
    yield "the same if margins were constant", "not computed", figure(stability["expected"])
    yield "drift of the margin", "none seen", figure(stability["drift"])


def reused(study: Json) -> Iterator[Row]:
    """Return prompts with one vote, and margins by first votes."""
    reuse = study["reuse"]
    yield "prompts of a pair with one vote (Arena there)", "99.9%", figure(reuse["share"], "share")
    yield "change of the margin with first votes only, median", "0", figure(reuse["change"])
    yield "the same, largest", "0.00073", plain(reuse["most"])


def by_prompt(study: Json) -> Iterator[Row]:
    """Return near ties among prompts of pairs, and what chance alone gives."""
    for row in study["by_prompt"]:
        called = f"prompts of pairs with {row['fewest']} votes or more"
        theirs = "710 of 5,016 (14.2%)" if row["fewest"] == 10 else "none"
        share = plain(row["share"]["estimate"], "share")
        yield f"{called}, near ties", theirs, f"{row['near_ties']} of {row['cells']} ({share})"
        chance = f"{row['if_level']:.0f} if none leaned, {row['if_as_pair']:.0f} if each leaned as its pair"
        yield f"{called}, expected by chance", "not computed", chance


ICC = tuple(
    f"bonwise plan --question margin --effect {effect} --icc {icc} --one-cluster --method paper"
    for effect in ("0.3175", "0.05")
    for icc in ("0", "0.0001", "0.001", "0.01")
)

SECTIONS = [
    Section(f"Figure 1 ({NAME})", "Margins of well-sampled pairs of Chatbot Arena.", NO_ARENA, [DROP]),
    Section(
        f"Figure 2 ({NAME})",
        "Needed votes against the margin, with the line of equation 8. The page of `preferences` draws it.",
        "Equation 8 is the plan itself: each pair's margin and votes stand in the table of pairs.",
        [DROP],
        needed_votes,
    ),
    Section(
        f"Table 1 ({NAME})",
        "Quantiles of the margins and the votes that they take.",
        ENCODING + " " + NO_ARENA,
        [PESSIMISTIC, DROP],
        quantiles,
    ),
    Section(f"Table 2 ({NAME})", "Pairs that are near ties.", ENCODING + " " + NO_ARENA, [PESSIMISTIC], near_ties),
    Section(
        f"Table 3 ({NAME})",
        "Votes that resemble each other, as one cluster.",
        "The same numbers, rounded up where the paper rounds. At a correlation of .001 no number of votes "
        "suffices for a margin of .05: 1051 x .001 is above 1, so there is no finite number to print.",
        ICC,
        correlated,
    ),
    Section(
        f"Table 5 ({NAME})",
        "Intervals of the quantiles, by resampling the pairs.",
        "Resampling is random, so the third digit differs. " + NO_ARENA,
        [PESSIMISTIC],
        resampled,
    ),
    Section(
        f"Table 6 ({NAME})",
        "How far a share of votes lies from one half, at equal numbers of votes.",
        "Ties dropped reproduce this table, other than Table 1: the paper mixes two encodings. " + NO_ARENA,
        [DROP],
        same_votes,
    ),
    Section(
        f"Section 3.5 ({NAME})",
        "The worked example: a pilot in which 28 of 50 votes prefer the second model.",
        "Equation 8 is a normal approximation; the plan counts by the exact binomial test, which takes 18 votes "
        "more.",
        ["bonwise plan --question margin --pilot 28/50 --labels 500"],
        worked,
    ),
    Section(
        f"Section 5.1 ({NAME})",
        "Whether several votes on one prompt resemble each other.",
        "In Arena nearly every prompt has one vote. In MT-Bench each has several, and they do resemble each other.",
        [DROP],
        clusters,
    ),
    Section(
        f"Section D.6 ({NAME})",
        "Ties counted in three ways.",
        "The order is the same on both. " + NO_ARENA,
        [DROP, HALF, PESSIMISTIC],
        ties,
    ),
    Section(
        f"Section D.3 ({NAME})",
        "How slowly more votes find a near tie: detection by number of votes.",
        "The paper prints curves. Here each pair's votes are drawn again, and the binomial test is exact.",
        [DROP],
        most_alike,
    ),
    Section(
        f"Figure 3 ({NAME})",
        "Margins of two protocols. The page of `preferences` draws those of a file.",
        NO_ARENA,
        [DROP],
    ),
    Section(
        f"Table 4 ({NAME})",
        "Variance of a prompt's win rate in two files, pair by pair.",
        "Votes of people against verdicts of GPT-4 on the same prompts, as Arena's are not among the data at "
        "hand. With one vote per prompt the variance within prompts is 0 by construction: `--against` refuses "
        "such a file, and the paper's ratio of 1.49 is that of such a file.",
        [f"{DROP} --against mt_bench_gpt4_pair.csv"],
        compared,
    ),
    Section(
        f"Figures 4, 5 and 6 ({NAME})",
        "Two-stage screening: power, overlap with the best types, and signal that is kept; 2,000 votes on 40 types.",
        "The directions agree. The null of the paper is that no type has a preference; where types prefer in both "
        "directions and cancel, its second stage rejects far more often than the level, which the last rows show.",
        [
            "bonwise plan --question screening --allocation made/types.csv --labels 2000 --first-stage 15",
            "bonwise plan --question screening --allocation made/diffuse_types.csv --labels 2000 --first-stage 15",
        ],
        screened,
    ),
    Section(
        f"Section C.2 ({NAME})",
        "The same replayed on the votes of MT-Bench, 60 votes per pair.",
        "The paper prints neither its budget nor its first stage. Its own Corollary 3.7 asks 40 votes per prompt "
        "in the first stage; MT-Bench has three per prompt and pair, so the replay cannot have followed it.",
        [f"bonwise plan --question screening --pilot {MT_BENCH} --ties drop --labels 60"],
        replayed,
    ),
    Section(
        f"Figure 7 ({NAME})",
        "Early votes against late ones.",
        "Comparing early votes with all votes compares a part with its whole. Early against late agrees with "
        "constant margins here, and yet early margins are smaller: a correlation of ranks does not see a shift.",
        [DROP],
        steady,
    ),
    Section(
        f"Sections D.1 and D.2 ({NAME})",
        "How often a prompt of a pair has one vote, and margins when only its first vote counts.",
        NO_ARENA,
        [DROP],
        reused,
    ),
    Section(
        f"Figure 8 ({NAME})",
        "Margins by prompt and pair of models; Pick-a-Pic there, MT-Bench here.",
        "The votes of Pick-a-Pic are not among the data at hand. At five votes a share of .6 or .4 lies on the "
        "threshold, so chance alone fills the near ties: the last column says how many.",
        [f"{DROP} --by prompt"],
        by_prompt,
    ),
    Section(
        f"Figure 9 ({NAME})",
        "BigCodeArena: margins by pair of models.",
        "The votes of BigCodeArena are not among the data at hand. The command is that of Figure 2.",
        [DROP],
    ),
]

NOT_HELD = (
    (
        "Ties are discarded (section 2, Table 1).",
        (
            "Table 1 and Table 2 for MT-Bench are those of ties against the first model: p10 .047, p25 .187, p50 "
            ".285. Dropped they are .150, .197 and .343. Table 6 is that of ties dropped."
        ),
    ),
    (
        "D.6 gives .133 as the smallest tenth for Arena when ties are dropped; Table 1 gives .082.",
        "Both cannot be the encoding that they name.",
    ),
    (
        "'A 1.5-fold reduction in prompt-level variance' (abstract, Table 4).",
        (
            "With one vote per prompt the variance within a prompt is 0 by construction, so 'between' holds all the "
            "noise of a vote. The ratio compares one thing with another."
        ),
    ),
    (
        "The replay of two-stage screening on MT-Bench (C.2) with b = c log m, c >= 10.",
        (
            "That asks 40 votes per prompt; MT-Bench has three per prompt and pair. The replay cannot have followed "
            "its own Corollary 3.7."
        ),
    ),
    (
        "'Early and final margins correlate at .93' (D.3).",
        "The final votes contain the early ones: a part is compared with its whole.",
    ),
)

PAPER = Paper(
    "How many human judgments are enough?", "Lee (2026); here `how-many-human-judgments`.", SECTIONS, NOT_HELD
)
