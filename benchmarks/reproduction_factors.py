"""Tables and figures of "Rich Insights from Cheap Signals", beside what bonwise makes of ratings at hand."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction_sections import Json, Paper, Row, Section, figure, plain

NAME = "tensor-factorization"
FIT = (
    "bonwise factor fit made/mt_ratings.csv --human human --rank 3 --prior 3 --seed 1 --leave-one-out --save fit.json"
)
STUDY = (
    "bonwise factor study made/ratings.csv --human human --budget 0.1 --budget 0.3 --budget 0.8 --rater-share 0.25 "
    "--rater-share 1 --splits 3 --rank 3 --prior 3 --seed 1"
)
CHOOSE = "bonwise factor fit made/ratings.csv --human human --holdout 0.3 --seed 1"
OURS = (
    "The ratings of the paper's raters are not among the data at hand. Ours are 3,355 votes of people on MT-Bench "
    "with GPT-4 as the only judge, so the models, prompts and figures are others."
)
SIMULATED = (
    "The paper prints curves of Gecko, BiGGen-Bench and LMArena, whose ratings are not at hand. Ours are "
    "simulated: 200 prompts, 4 models, 8 judges."
)


def budgets(study: Json) -> Iterator[Row]:
    """Return the loss by share of human ratings."""
    for row in study["by_labels"]:
        called = f"{plain(row['share'], 'share')} of the human ratings"
        yield f"{called}, factor model", "curve", figure(row["cross_entropy"])
        for name, who in (("constant", "Constant"), ("prompt_specific", "Prompt-specific")):
            yield f"{called}, {who}, loses more", "curve", figure(row["baselines"][name]["difference"])


def judges_alone(study: Json) -> Iterator[Row]:
    """Return how much more what judges say alone loses."""
    for row in study["by_labels"]:
        called = f"{plain(row['share'], 'share')} of the human ratings, mean verdict of the judges, loses more"
        yield called, "curve", figure(row["baselines"]["verdicts_only"]["difference"])


def judges(study: Json) -> Iterator[Row]:
    """Return the loss by share of the judges."""
    for row in study["by_judges"]:
        yield f"{row['judges']} judges", "falls with more judges", figure(row["cross_entropy"])


def by_rank(fit: Json, key: str) -> Iterator[Row]:
    """Return the best loss of each rank."""
    ranks = sorted({candidate["rank"] for candidate in fit["candidates"]})
    theirs = "falls with the rank" if key == "stage_one_loss" else "falls, then rises"
    for rank in ranks:
        best = min(candidate[key] for candidate in fit["candidates"] if candidate["rank"] == rank)
        yield f"rank {rank}", theirs, plain(best)


def cohesion(fit: Json) -> Iterator[Row]:
    """Return the share of one skill in each category."""
    for row in fit["cohesion"]:
        one_skill = row["cohesion"]
        ends = f"[{plain(one_skill['low'], 'share')}, {plain(one_skill['high'], 'share')}]"
        yield row["category"], "ranked, without intervals", f"{plain(one_skill['share'], 'share')} {ends}"


def permuted(fit: Json) -> Iterator[Row]:
    """Return permutation p-values of the categories."""
    theirs = "0.000 to 0.063 of five most cohesive, 0.194 to 0.954 of five least"
    for row in fit["cohesion"]:
        both = f"{plain(row['cohesion']['p'])}; {plain(row['cohesion']['p_adjusted'])} adjusted"
        yield f"{row['category']}, p", theirs, both


def sizes(fit: Json) -> Iterator[Row]:
    """Return the prompts of each category."""
    for row in fit["cohesion"]:
        yield row["category"], "6 to 100 (Gecko), 10 (BiGGen-Bench)", str(row["prompts"])


def ranked(_: Json, *boards: Json) -> Iterator[Row]:
    """Return the order of the models on categories."""
    for board in boards:
        for model in board["models"]:
            yield f"{board['name']}, {model['model']}", "intervals without numbers", figure(model, digits=2)


def by_prompt(_: Json, comparison: Json) -> Iterator[Row]:
    """Return on how many prompts each of two models is better."""
    counts = {"better": 0, "worse": 0, "open": 0}
    for prompt in comparison["prompts"]:
        counts[prompt["verdict"]] += 1
    of = len(comparison["prompts"])
    for verdict, count in counts.items():
        who = {"better": comparison["model"], "worse": comparison["other"], "open": "no verdict"}[verdict]
        yield f"{who}: prompts of {of}", "colours without numbers", str(count)


def explained(_: Json, explanation: Json) -> Iterator[Row]:
    """Return what tags add to a gap."""
    for row in explanation["coefficients"]:
        name = f"{row['column']} = {row['level']}" if row["level"] else row["column"]
        yield name, "11 tags of LMArena, -0.11 to +0.16", figure(row)
    yield "variance explained", "1.1%", plain(explanation["explained"], "share")


def left_out(_: Json, prediction: Json) -> Iterator[Row]:
    """Return predictions of models without their human ratings."""
    ours = prediction["left_out"]
    for row in ours["rows"]:
        yield (
            f"{row['model']}, truth",
            "points without numbers",
            f"{plain(row['truth'])}, {plain(row['predicted'])} predicted",
        )
    yield "models on the right side of 0", "'the majority'", f"{ours['same_side']} of {len(ours['rows'])}"
    yield "models inside both margins of error", "not said", f"{ours['inside']} of {len(ours['rows'])}"
    yield "slope of truth on prediction", "near 1 by eye", plain(ours["slope"], digits=2)
    yield "p of a trait that no judge sees", "not tested", plain(ours["trait"]["p"], digits=5)


def replaceable(_: Json, comparison: Json) -> Iterator[Row]:
    """Return on how many prompts one model can replace another."""
    replacement = comparison["replacement"]
    ends = f"[{plain(replacement['low'], 'share')}, {plain(replacement['high'], 'share')}]"
    share = f"{plain(replacement['share'], 'share')} {ends}"
    yield "prompts on which it loses less than the margin", "a share of ties", share
    shown = f"{replacement['shown']} of {len(comparison['prompts'])}"
    yield "prompts for which this is shown together", "not computed", shown


def by_rank_of(_: Json, strengths: Json) -> Iterator[Row]:
    """Return numbers of prompts by the rank of a model."""
    for row in strengths["numbers"]:
        for rank in ("first", "last"):
            yield f"{row['column']}, median where it is {rank}", "a density", figure(row[rank], digits=1)


BOARD = "bonwise factor leaderboard fit.json --category"
COMPARE = "bonwise factor compare fit.json gpt-3.5-turbo claude-v1"
EXPLAIN = (
    "bonwise factor explain fit.json gpt-4 gpt-3.5-turbo --prompts made/mt_prompts.csv --tags second_turn,category"
)

SECTIONS = [
    Section(
        f"Figure 1 ({NAME})",
        "Cross-entropy of held-out human ratings by the share that was fitted, beside baselines.",
        SIMULATED + " P2L needs a language model that was tuned for it and is not part of bonwise.",
        [STUDY],
        budgets,
        slow=True,
    ),
    Section(
        f"Figure 2 ({NAME})",
        "Categories by cohesion: how much of what they ask for is one skill.",
        OURS,
        [FIT],
        cohesion,
        slow=True,
    ),
    Section(
        f"Figures 3 and 4 ({NAME})",
        "Leaderboards of single categories with simultaneous intervals. Figures 13 and 14 are the same of all "
        "categories.",
        OURS,
        [FIT, f"{BOARD} humanities", f"{BOARD} math"],
        ranked,
        slow=True,
    ),
    Section(
        f"Figure 5 ({NAME})",
        "Two models on every prompt, with verdicts that hold together.",
        OURS,
        [FIT, COMPARE],
        by_prompt,
        slow=True,
    ),
    Section(
        f"Figure 6 ({NAME})",
        "The same for LLaMa-3.3-70b and Gemini-2.5-Pro on LMArena.",
        "The votes are not at hand. The paper reads an interval that holds 0 as 'no loss in performance'; that is "
        "not equivalence.",
        [FIT, COMPARE],
    ),
    Section(
        f"Figure 7 ({NAME})",
        "Each model without its human ratings: truth against prediction.",
        OURS + " With one judge, some predictions miss by more than both margins of error, and the test finds a "
        "trait that GPT-4 does not see. The paper draws errors without counting such a trait.",
        [FIT, "bonwise factor predict fit.json --leave-one-out"],
        left_out,
        slow=True,
    ),
    Section(
        f"Figure 8 ({NAME})",
        "Numbers of prompts where a model is the first of all against where it is the last; the length of prompts "
        "there.",
        OURS
        + " The words of the questions are not at hand either, so the number of the question stands for a length.",
        [FIT, "bonwise factor strengths fit.json claude-v1 --prompts made/mt_prompts.csv"],
        by_rank_of,
        slow=True,
    ),
    Section(
        f"Figure 9 ({NAME})",
        "The loss of stage one by rank.",
        SIMULATED + " The loss falls with every skill, so it chooses nothing.",
        [CHOOSE],
        lambda fit: by_rank(fit, "stage_one_loss"),
        slow=True,
    ),
    Section(
        f"Figure 10 ({NAME})",
        "The loss on human ratings by rank; cross-validation chooses it here.",
        SIMULATED,
        [CHOOSE],
        lambda fit: by_rank(fit, "cross_entropy"),
        slow=True,
    ),
    Section(
        f"Figure 11 ({NAME})", "The same beside what judges say alone.", SIMULATED, [STUDY], judges_alone, slow=True
    ),
    Section(f"Figure 12 ({NAME})", "The loss by the share of the judges.", SIMULATED, [STUDY], judges, slow=True),
    Section(
        f"Figures 13, 14, 15, 16 and 17 ({NAME})",
        "Figures 3, 4 and 5 again, of all categories and with all human ratings.",
        "Ours above use all human ratings already. `--holdout 0.9` gives those of a tenth.",
        [FIT, f"{BOARD} humanities", COMPARE],
    ),
    Section(
        f"Table 1 ({NAME})",
        "Permutation p-values of cohesion.",
        OURS + " The paper tests the five most and the "
        "five least cohesive categories after looking at all, and takes each p-value as if it stood alone.",
        [FIT],
        permuted,
        slow=True,
    ),
    Section(f"Table 2 ({NAME})", "How many prompts the categories have.", OURS, [FIT], sizes, slow=True),
    Section(
        f"Table 3 ({NAME})",
        "What tags of a prompt add to the gap of two models.",
        OURS
        + " The paper regresses estimates by least squares, which shrinks effects to .83 of the truth and covers "
        ".73 in simulations; `explain` has 1.05 and .95.",
        [FIT, EXPLAIN],
        explained,
        slow=True,
    ),
]

NOT_HELD = (
    (
        "'No loss in performance' where an interval holds 0 (4.4).",
        "An interval that holds 0 does not show equality; that takes a margin and an interval within it.",
    ),
    (
        "Errors of stage one are negligible (3.3).",
        "On simulations of BiGGen-Bench's size the intervals that take stage one as known cover .51.",
    ),
    (
        "Intervals after fine-tuning.",
        "The paper says that they do not hold, and prints none. Neither does bonwise: it has no third stage.",
    ),
    (
        "Predictions of models without human ratings (Figure 7).",
        "On MT-Bench four of six miss by 2.4 errors or more when judges are taken to see all that people see.",
    ),
)

PAPER = Paper(
    "Rich insights from cheap signals", "Maia Polo et al.; here `tensor-factorization`.", SECTIONS, NOT_HELD
)
