"""Hypothesis strategies for files as strangers make them, out of files that a parser takes."""

from collections.abc import Sequence

from hypothesis import strategies as st

from fuzz.targets import TOKENS

__all__ = ["JSON", "STRANGE_NAMES", "mutated"]

STRANGE_NAMES = (
    *("", ".", "..", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "C:x", "con", "~", "-rf"),
    *("a\0b", "two\nlines", "\x1b[2J", "\ud800", "\u202e", "é" * 300, "." * 300, "-" * 300, " "),
)


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Return one of the files with a few blocks of it flipped, cut, moved, repeated or replaced."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 30)))
        other = draw(st.sampled_from(seeds))
        content = draw(_changed(content[:start], content[start:end], content[end:], other))
    return content


def _changed(before: bytes, block: bytes, after: bytes, other: bytes) -> st.SearchStrategy[bytes]:
    return st.one_of(
        st.sampled_from([before, before + after, before + other[len(before) :]]),
        st.integers(1, 255).map(lambda bits: before + _flipped(block, bits) + after),
        st.sampled_from(TOKENS).map(lambda token: before + token + after),
        st.binary(max_size=8).map(lambda new: before + new + after),
        st.integers(2, 200).map(lambda times: before + block * times + after),
    )


def _flipped(block: bytes, bits: int) -> bytes:
    return bytes([block[0] ^ bits]) + block[1:] if block else block


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, 10**30, 10**400, -1, 10**6])
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(STRANGE_NAMES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "ann", *STRANGE_NAMES]), inner, max_size=3)
    ),
    max_leaves=8,
)
