"""Loss and decoding beside the published algorithm: a dense Laplacian over spans and entities, and networkx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from timing import Row, best
from torch import Tensor

from trees import CANDIDATES, SPANS, Document, decode, document, networkx_decode, our_loss

SCORES = (1.0, 3.0)


def dense_loss(doc: Document) -> Tensor:
    """Minus the log-probability of the gold by two determinants over all spans and all entities, in float64."""
    root, pairs, candidates = doc.root[0].double(), doc.pairs[0].double(), doc.candidate_scores[0].double()
    spans, entities = len(root), int(doc.candidate_rows.max()) + 1
    rows = doc.candidate_rows[0]
    spans_at = torch.arange(spans).unsqueeze(1).expand_as(rows)
    linked = torch.zeros(entities, spans, dtype=torch.float64)
    linked = linked.index_put((rows, spans_at), torch.exp(candidates), accumulate=True)
    between = torch.exp(pairs) * (1.0 - torch.eye(spans, dtype=torch.float64))
    to_entities = torch.ones(entities, dtype=torch.float64)
    whole = _laplacian(torch.cat([to_entities, torch.exp(root)]), linked, between)
    clusters, gold = doc.gold_clusters[0], doc.gold_entities[0]
    own = torch.where(clusters < 0, spans + torch.arange(spans), clusters)
    same = (own.unsqueeze(0) == own.unsqueeze(1)).double()
    is_gold = (torch.arange(entities).unsqueeze(1) == gold) & (gold >= 0)
    right = _laplacian(torch.cat([to_entities, torch.zeros_like(root)]), linked * is_gold, between * same)
    # A cluster without an entity has one edge from the root: its weights replace the row of the cluster's first span
    # (Koo et al., 2007).
    first = torch.tensor([int((own == cluster).nonzero()[0]) for cluster in own.tolist()]) == torch.arange(spans)
    replaced = torch.cat([torch.zeros(entities, dtype=torch.bool), first & (gold < 0)])
    roots = torch.nn.functional.pad(torch.exp(root) * same, (entities, 0, entities, 0))
    right = torch.where(replaced.unsqueeze(1), roots, right)
    return torch.linalg.slogdet(whole).logabsdet - torch.linalg.slogdet(right).logabsdet


def _laplacian(above: Tensor, linked: Tensor, between: Tensor) -> Tensor:
    """The Laplacian of entities and spans without the root, from its edges, those of entities and those of spans."""
    entities = len(linked)
    weights = torch.cat([torch.zeros(entities, entities, dtype=torch.float64), linked], dim=1)
    weights = torch.cat([weights, torch.cat([torch.zeros_like(linked).T, between], dim=1)])
    return torch.diag(weights.sum(dim=0) + above) - weights


def _gradient(loss: Callable[[Document], Tensor], doc: Document) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(loss(doc), [doc.root, doc.pairs, doc.candidate_scores])


def trees() -> Iterator[Row]:
    """Yield the figures of the loss with its gradient, and of decoding."""
    for std in SCORES:
        doc = document(SPANS, std)
        times = best(
            {
                "ours": _gradient(our_loss, doc),
                "dense": _gradient(dense_loss, doc),
                "decode": lambda doc=doc: decode(doc),
                "networkx": lambda doc=doc: networkx_decode(doc),
            },
            5,
        )
        size = f"{SPANS} spans of {CANDIDATES} candidates, scores of deviation {std:g}"
        yield Row("b", f"loss and gradient, {size}", "ours", times["dense"] / times["ours"])
        yield Row("b", f"decoding, {size}", "ours", times["networkx"] / times["decode"])
