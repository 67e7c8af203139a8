"""Chains of evidence: as lists have them, and no larger for mentions that hang deep."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import AnnotatedDocument, Chain, Cluster, Mention, Parent
from hf_corefel.formats.wording import chain_line

PARENTS = st.sampled_from(
    [Parent("root"), Parent("entity", entity="X"), *(Parent("mention", i, i + 1) for i in range(3))]
)


def chain_of(parents: list[Parent]) -> Chain:
    chain = Chain()
    for parent in reversed(parents):
        chain = Chain(parent, chain)
    return chain


def line_of(depth: int, entity: str = "Ada") -> AnnotatedDocument:
    """Mentions of which each hangs from the one before it, the first from the entity."""
    mentions = [Mention(0, 1, parent=Parent("entity", entity=entity))]
    mentions += [Mention(i, i + 1, parent=Parent("mention", i - 1, i)) for i in range(1, depth)]
    return AnnotatedDocument("x" * depth, [Cluster(tuple(mentions), entity)])


@given(st.lists(PARENTS, max_size=6), st.lists(PARENTS, max_size=6), st.integers(-8, 8), st.slices(6))
def test_a_chain_is_like_the_list_of_its_parents(
    parents: list[Parent], others: list[Parent], index: int, part: slice
) -> None:
    chain = chain_of(parents)
    assert (list(chain), len(chain), bool(chain), chain[part]) == (parents, len(parents), bool(parents), parents[part])
    assert chain == parents and parents == chain and chain == chain_of(parents)
    assert (chain == others) is (parents == others) and (chain != chain_of(others)) is (parents != others)
    assert [list(chain).count(parent) for parent in others] == [chain.count(parent) for parent in others]
    assert pickle.loads(pickle.dumps(chain)) == copy.deepcopy(chain) == chain
    assert repr(chain) == f"Chain({parents!r})"
    if -len(parents) <= index < len(parents):
        assert chain[index] == parents[index]
    else:
        with pytest.raises(IndexError):
            chain[index]


def test_chains_share_their_ends() -> None:
    """So that those of n mentions hold n links, not n²/2, and are made and freed without going deep."""
    depth = 50 * sys.getrecursionlimit()
    document = line_of(depth)
    chains = document.chains()
    assert len({id(chain) for chain in chains.values()}) == len(chains) == depth
    for mention in document.clusters[0].mentions[1 :: depth // 50]:
        chain = chains[mention.offsets]
        assert mention.parent is not None and mention.parent.offsets is not None
        assert (chain[0], len(chain), chain[-1]) == (mention.parent, mention.end, Parent("entity", entity="Ada"))
        assert chain._above is chains[mention.parent.offsets]
    last = document.clusters[0].mentions[-1]
    assert document.chain(last) == chains[last.offsets]


@pytest.mark.parametrize("depth", [1, 5, 6, 7, 8, 5_000])
def test_what_is_said_of_a_chain_is_short(depth: int) -> None:
    document = line_of(depth)
    mention = document.clusters[0].mentions[-1]
    said = chain_line(mention, document.chains()[mention.offsets])
    assert said == chain_line(mention, document.chain(mention))
    if depth <= 6:
        assert said == " → ".join(["x"] * depth + ["Ada (entity)"])
    else:
        assert said == f"x → x → x → x → x → … {depth - 5} more … → Ada (entity)"


def test_what_is_said_of_a_long_parent_is_short() -> None:
    text = "the word " * 100
    long, short = Mention(0, len(text), parent=Parent("root")), Mention(4, 8, parent=Parent("mention", 0, len(text)))
    document = AnnotatedDocument(text, [Cluster((long, short))])
    said = chain_line(document.clusters[0].mentions[1], document.chain(short))
    assert said == f"word → {('the word ' * 100)[:79]}… → no entity"
