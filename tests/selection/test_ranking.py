from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bonwise.selection.entrants import ranked, seeded_order
from bonwise.table.verdicts import rounded

SCORES = st.none() | st.sampled_from([0.0, 0.3, 0.1 + 0.2, 0.5, -1.0]) | st.floats(-1e6, 1e6)


@st.composite
def fields(draw):
    """Draw scores, what decides between equal ones, and an order."""
    count = draw(st.integers(1, 6))
    scores = draw(st.lists(SCORES, min_size=count, max_size=count))
    second = draw(st.none() | st.lists(SCORES, min_size=count, max_size=count))
    return scores, draw(st.permutations(range(count))), second


@given(fields())
def test_a_plain_loop_ranks_the_same(field):
    """Taking the best that is left, one after the other, gives the same ranking, ties and level ones."""
    scores, order, second = field
    found = ranked(scores, order, second)

    def ahead(a, b):
        if rounded(scores[a]) != rounded(scores[b]):
            return rounded(scores[a]) > rounded(scores[b])
        if second is not None and second[a] != second[b]:
            if second[a] is None or second[b] is None:
                return second[b] is None
            if rounded(second[a]) != rounded(second[b]):
                return rounded(second[a]) > rounded(second[b])
        return list(order).index(a) < list(order).index(b)

    left, expected = [at for at, one in enumerate(scores) if one is not None], []
    while left:
        best = next(one for one in left if all(one == other or ahead(one, other) for other in left))
        expected.append(best)
        left.remove(best)
    assert list(found.order) == expected
    tied = [at for at in sorted(expected) if rounded(scores[at]) == rounded(scores[expected[0]])]
    assert list(found.tied) == (tied if len(tied) > 1 else [])
    assert set(found.level) <= set(found.tied)
    if second is None:
        assert found.level == found.tied
    if found.level:
        assert found.order[0] in found.level


def test_without_a_score_there_is_no_rank():
    """No scores, no ranking."""
    assert ranked([None, None], (0, 1)) == ((), (), ())
    assert ranked([], ()) == ((), (), ())


def test_the_order_depends_on_names_alone():
    """However the candidates are in the list, each has the same place; other seeds and salts give other orders."""
    names = ["a", "b", "c", "d"]
    for seed in range(5):
        orders = {tuple(some[at] for at in seeded_order(some, seed=seed, salt="s")) for some in permutations(names)}
        assert len(orders) == 1
    assert len({seeded_order(names, seed=seed, salt="s") for seed in range(200)}) == 24
    assert len({seeded_order(names, seed=0, salt=str(salt)) for salt in range(200)}) == 24


def test_every_order_is_equally_likely():
    """Over seeds all six orders of three names are equally common."""
    seen = Counter(seeded_order(["x", "y", "z"], seed=seed, salt="p") for seed in range(3000))
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_seed_and_salt_are_not_mixed_up():
    """Seed 1 of salt "2" is not seed 12 of an empty one; a lone surrogate is a salt as any."""
    names = [str(at) for at in range(30)]
    assert seeded_order(names, seed=1, salt="2") != seeded_order(names, seed=12, salt="")
    assert sorted(seeded_order(["\ud800", "a"], seed=0, salt="\ud800")) == [0, 1]


def test_the_global_generator_is_left_alone():
    """Breaking ties draws nothing from the generator that a caller may have seeded."""
    random.seed(1)
    before = random.getstate()
    seeded_order(["a", "b", "c"], seed=3, salt="s")
    assert random.getstate() == before
