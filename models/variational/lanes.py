"""Steps of CVB0 as vectors of the processor, over blocks of 16 topics."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from models.lanes import FLOAT, INT32, INT64, LANES, Lanes, hold
from models.variational.first_passes import LEAST_NORM, Floats32
from models.variational.likely_topics import Topics

AT_ONCE = 4  # words that are updated at once
ONE = FLOAT(1.0)


def update_words(
    group: int,
    counts: Floats32,
    weight: Floats32,
    expected: Floats32,
    prior: Floats32,
    seen: Floats32,
    total: Floats32,
    joint: Floats32,
) -> bool:
    """Update n_w r_wk of a group of words, and N in `total` (A,) by what they change.

    All of them see the same N, `seen` (A,), which may be `total`. A is a multiple of `LANES`. Each
    group has a row of n_w in `counts` (n, AT_ONCE), of weights, and of n_w r_wk in `expected`: the
    first `LANES` topics of each word in turn, then the next. `joint` is room for as many. Own
    parts, which are left out of N, are n_w r_wk / max(n_w, 1). Returns whether each word has a
    topic.

    A kernel does not look whether the arrays, in C order, have these places.
    """
    del joint
    shape, n = (len(prior) // LANES, AT_ONCE, LANES), counts[group, :, None]
    r, phi = (each[group, : len(prior) * AT_ONCE].reshape(shape) for each in (expected, weight))
    own = np.float32(1.0) / np.maximum(n, np.float32(1.0))
    others = np.maximum(seen.reshape(-1, 1, LANES) - own * r, np.float32(0.0))
    p = (others + prior.reshape(-1, 1, LANES)) * phi
    norm = p.sum(axis=(0, 2))[:, None]
    is_known = norm >= LEAST_NORM
    new = p * np.where(is_known, n / np.where(is_known, norm, 1.0), np.float32(0.0))
    # in this order N of one word is what it holds, to the bit
    rest = total.reshape(-1, LANES) - r.sum(axis=1)
    total.reshape(-1, LANES)[:] = rest + new.sum(axis=1)
    r[:] = new
    return bool(is_known.all())


@overload(update_words, jit_options={"forceinline": True})
def _update_words_types(
    group: Any,
    counts: Any,
    weight: Any,
    expected: Any,
    prior: Any,
    seen: Any,
    total: Any,
    joint: Any,
) -> Callable[..., Any] | None:
    del group
    arrays = counts, weight, expected, prior, seen, total, joint
    if not all(hold(each, types.float32) for each in arrays):
        return None

    def update_words_types(
        group: Any,
        counts: Any,
        weight: Any,
        expected: Any,
        prior: Any,
        seen: Any,
        total: Any,
        joint: Any,
    ) -> Any:
        n_blocks = len(prior) // LANES
        return _update_words(  # type: ignore[call-arg]
            group, counts, weight, expected, prior, seen, total, joint, n_blocks
        )

    return update_words_types


@intrinsic
def _update_words(
    typing_context: Any,  # noqa: ARG001
    group: Any,
    counts: Any,
    weight: Any,
    expected: Any,
    prior: Any,
    seen: Any,
    total: Any,
    joint: Any,
    n_blocks: Any,
) -> Any:
    """Return the types and the code of `update_words`."""
    given = group, counts, weight, expected, prior, seen, total, joint, n_blocks

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(context, builder, signature.args, arguments)
        of_counts, of_weight, of_expected, of_prior, of_seen, of_total, of_joint = range(1, 8)
        n_first, phi_first, r_first = (lanes.row(a, 0) for a in (of_counts, of_weight, of_expected))
        words, zeros = range(AT_ONCE), lanes.splat(FLOAT(0.0))
        n = [builder.load(lanes.pointer(of_counts, builder.add(n_first, INT64(w)))) for w in words]
        larger = [builder.select(builder.fcmp_ordered(">", c, ONE), c, ONE) for c in n]
        own = [lanes.splat(builder.fdiv(ONE, each)) for each in larger]
        norms = [cgutils.alloca_once_value(builder, zeros) for _ in words]  # type: ignore[no-untyped-call]

        def places(block: Any) -> list[Any]:
            first = builder.mul(block, INT64(AT_ONCE * LANES))
            return [builder.add(first, INT64(w * LANES)) for w in words]

        with cgutils.for_range(builder, lanes.number(8)) as loop:
            first = builder.mul(loop.index, INT64(LANES))
            all_n, alpha = lanes.load(of_seen, first), lanes.load(of_prior, first)
            old = [
                lanes.load(of_expected, builder.add(r_first, each)) for each in places(loop.index)
            ]
            for w, place in enumerate(places(loop.index)):
                others = builder.fsub(all_n, builder.fmul(own[w], old[w]))
                others = builder.select(builder.fcmp_ordered(">", others, zeros), others, zeros)
                phi = lanes.load(of_weight, builder.add(phi_first, place))
                p = builder.fmul(builder.fadd(others, alpha), phi)
                lanes.store(p, of_joint, place)
                builder.store(builder.fadd(builder.load(norms[w]), p), norms[w])
            rest = builder.fsub(lanes.load(of_total, first), _sum_of(builder, old))
            lanes.store(rest, of_total, first)
        sums = [lanes.sum(builder.load(each)) for each in norms]
        are_known = [builder.fcmp_ordered(">=", each, FLOAT(float(LEAST_NORM))) for each in sums]
        factors = [
            lanes.splat(builder.select(are_known[w], builder.fdiv(n[w], sums[w]), FLOAT(0.0)))
            for w in words
        ]
        with cgutils.for_range(builder, lanes.number(8)) as loop:
            first = builder.mul(loop.index, INT64(LANES))
            new = []
            for w, place in enumerate(places(loop.index)):
                # N of one word must be what it holds, to the bit, or small priors drown (tested)
                new.append(builder.fmul(lanes.load(of_joint, place), factors[w]))
                lanes.store(new[w], of_expected, builder.add(r_first, place))
            rest = builder.fadd(lanes.load(of_total, first), _sum_of(builder, new))
            lanes.store(rest, of_total, first)
        return functools.reduce(builder.and_, are_known)

    return types.boolean(*given), code


def _sum_of(builder: Any, vectors: list[Any]) -> Any:
    """Return the sum of four vectors."""
    a, b, c, d = vectors
    return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))


def add_word(
    word: int,
    topic: Topics,
    share: Floats32,
    count: np.float32,
    prior: Floats32,
    total: Floats32,
) -> None:
    """Add n r_k of a word with n `count` tokens to N in `total` (K,), where r_k is in proportion to
    `prior` (K,) times the share of k, for the first `LANES` topics of its list, which differ.
    Lists are rows of `topic` and `share` (V, M).

    A kernel does not look whether the arrays, in C order, have these places.
    """
    topics = topic[word, :LANES]
    p = prior[topics] * share[word, :LANES]
    norm = p.sum()
    if norm >= LEAST_NORM:
        total[topics] += p * (count / norm)


@overload(add_word, jit_options={"forceinline": True})
def _add_word_types(
    word: Any, topic: Any, share: Any, count: Any, prior: Any, total: Any
) -> Callable[..., Any] | None:
    del word, count
    are_floats = all(hold(each, types.float32) for each in (share, prior, total))
    if not (are_floats and hold(topic, types.uint16)):
        return None

    def add_word_types(
        word: Any, topic: Any, share: Any, count: Any, prior: Any, total: Any
    ) -> Any:
        _add_word(word, topic, share, count, prior, total)  # type: ignore[call-arg]

    return add_word_types


@intrinsic
def _add_word(
    typing_context: Any,  # noqa: ARG001
    word: Any,
    topic: Any,
    share: Any,
    count: Any,
    prior: Any,
    total: Any,
) -> Any:
    """Return the types and the code of `add_word`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(context, builder, signature.args, arguments)
        of_topic, of_share, of_count, of_prior, of_total = range(1, 6)
        topics = lanes.indices(of_topic, lanes.row(of_topic, 0))
        shares = lanes.load(of_share, lanes.row(of_share, 0))
        p = builder.fmul(lanes.gather(of_prior, topics), shares)
        norm = lanes.sum(p)
        is_known = builder.fcmp_ordered(">=", norm, FLOAT(float(LEAST_NORM)))
        factor = builder.fdiv(lanes.number(of_count, types.float32), norm)
        new = builder.fmul(p, lanes.splat(builder.select(is_known, factor, FLOAT(0.0))))
        for lane, k in enumerate(topics):
            n, place = builder.extract_element(new, INT32(lane)), lanes.pointer(of_total, k)
            builder.store(builder.fadd(builder.load(place), n), place)
        return context.get_dummy_value()

    return types.none(word, topic, share, count, prior, total), code


def fill_word(
    word: int,
    topic: Topics,
    share: Floats32,
    rest: np.float32,
    column: NDArray[np.uint32],
    weight: Floats32,
    first: int,
    n_blocks: int,
) -> None:
    """Set the weights of a word to `rest`, but those of its listed topics to their shares.

    Lists are rows of `topic` and `share` (V, M), M a multiple of `LANES`. The word has `LANES`
    places in each of `n_blocks` of its group, from `weight[first]` on; `column` (K,) has those of
    topics, counted from there.

    A kernel does not look whether the arrays, in C order, have these places.
    """
    for block in range(n_blocks):
        place = first + block * AT_ONCE * LANES
        weight[place : place + LANES] = rest
    weight[first + column[topic[word]].astype(np.int64)] = share[word]


@overload(fill_word, jit_options={"forceinline": True})
def _fill_word_types(
    word: Any,
    topic: Any,
    share: Any,
    rest: Any,
    column: Any,
    weight: Any,
    first: Any,
    n_blocks: Any,
) -> Callable[..., Any] | None:
    del word, rest, first, n_blocks
    are_floats = hold(weight, types.float32) and hold(share, types.float32)
    if not (are_floats and hold(topic, types.uint16) and hold(column, types.uint32)):
        return None

    def fill_word_types(
        word: Any,
        topic: Any,
        share: Any,
        rest: Any,
        column: Any,
        weight: Any,
        first: Any,
        n_blocks: Any,
    ) -> Any:
        n_listed = topic.shape[1] // LANES
        _fill_word(word, topic, share, rest, column, weight, first, n_blocks, n_listed)  # type: ignore[call-arg]

    return fill_word_types


@intrinsic
def _fill_word(
    typing_context: Any,  # noqa: ARG001
    word: Any,
    topic: Any,
    share: Any,
    rest: Any,
    column: Any,
    weight: Any,
    first: Any,
    n_blocks: Any,
    n_listed: Any,
) -> Any:
    """Return the types and the code of `fill_word`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(context, builder, signature.args, arguments)
        of_topic, of_share, of_rest, of_column, of_weight, first_place = range(1, 7)
        first_weight, value = lanes.number(first_place), lanes.number(of_rest, types.float32)
        with cgutils.for_range(builder, lanes.number(7)) as loop:
            place = builder.add(first_weight, builder.mul(loop.index, INT64(AT_ONCE * LANES)))
            lanes.store(lanes.splat(value), of_weight, place)
        with cgutils.for_range(builder, lanes.number(8)) as loop:
            listed = builder.add(lanes.row(of_topic, 0), builder.mul(loop.index, INT64(LANES)))
            for lane in range(LANES):
                here = builder.add(listed, INT64(lane))
                place = lanes.index(of_column, lanes.index(of_topic, here))
                one_share = builder.load(lanes.pointer(of_share, here))
                builder.store(one_share, lanes.pointer(of_weight, builder.add(first_weight, place)))
        return context.get_dummy_value()

    given = word, topic, share, rest, column, weight, first, n_blocks, n_listed
    return types.none(*given), code
