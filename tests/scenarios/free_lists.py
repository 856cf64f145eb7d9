# SPDX-License-Identifier: Apache-2.0
"""Lists of free blocks by order, as the buddy allocator keeps them."""


import operator

_SIZES = tuple(1 << order for order in range(32))


def pages(counts):
    return sum(map(operator.mul, counts, _SIZES))


def take(counts, want):
    """Removes exactly `want` pages: of each list its share, the rest from small blocks. What is larger
    than needed is split and the rest put back."""
    have = pages(counts)
    assert want <= have
    for order, n in enumerate(counts):
        share = min(n * want // have, want >> order) if have else 0
        counts[order] -= share
        want -= share << order
        have -= n << order
    while want:
        order = next(o for o, n in enumerate(counts) if n)
        if (1 << order) <= want:
            n = min(counts[order], want >> order)
            counts[order] -= n
            want -= n << order
        else:
            counts[order] -= 1
            put_range(counts, want, 1 << order)
            want = 0


def take_largest(counts, want):
    """Removes exactly `want` pages from the largest blocks: a contiguous allocation swallows them."""
    assert want <= pages(counts)
    while want:
        order = max(o for o, n in enumerate(counts) if n)
        counts[order] -= 1
        if (1 << order) > want:
            put_range(counts, want, 1 << order)
        want = max(0, want - (1 << order))


def put_range(counts, begin, end):
    """Frees the pages [begin, end) as the aligned blocks that the allocator would merge them to."""
    top = len(counts) - 1
    while begin < end:
        order = min(top, (begin & -begin).bit_length() - 1 if begin else top)
        while begin + (1 << order) > end:
            order -= 1
        counts[order] += 1
        begin += 1 << order


def put_scattered(counts, n, rng, largest):
    """Frees n pages from here and there: mostly small blocks, none above order `largest`."""
    while n:
        order = min(rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 6, largest)), largest, n.bit_length() - 1)
        blocks = max(1, min(n >> order, n // 12 >> order))
        counts[order] += blocks
        n -= blocks << order


def cap(counts, largest):
    """Splits what is larger than 2^largest pages."""
    for order in range(len(counts) - 1, largest, -1):
        counts[largest] += counts[order] << (order - largest)
        counts[order] = 0
