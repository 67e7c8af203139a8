"""Speed of the tree distribution on one thread: loss, gradient and decoding of one document.

    python benchmarks/trees.py

Each line is the best of several runs. Beside our loss stands the same loss by plain LU determinants in float64
(`torch.linalg.slogdet` on the Laplacian with entities folded into the root, one block-diagonal determinant for the
gold trees, PyTorch's autograd): only right while no cluster hangs together much more tightly than it hangs from the
root, as the error column shows. The error is measured against the log-space elimination.

The path is the one that the sum over all trees took: "LU" if the factorisation proved exact and marginals come from
the inverse, "LU, reverse" if only the former, else the elimination without subtraction in linear or in log space.
"""

# ruff: noqa: E402 - the number of threads must be set before numpy and torch are imported

from __future__ import annotations

import math
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from hf_corefel.trees import SpanningTreeDistribution, elimination, lu

SPANS, CANDIDATES, ENTITIES = 121, 16, 600
# Milliseconds of the released research code, one thread, a 600-word document of 121 spans with 16 candidates each;
# measured once on another machine, good to 30 %.
ORIGINAL = {"forward": 280.0, "backward": 900.0, "decode": 550.0}


class Document(NamedTuple):
    """Scores root [1, N], pairs [1, N, N], candidates [1, N, K], their entities, and gold cluster and entity ids."""

    root: Tensor
    pairs: Tensor
    candidate_scores: Tensor
    candidate_rows: Tensor
    gold_clusters: Tensor
    gold_entities: Tensor

    def distribution(self) -> SpanningTreeDistribution:
        return SpanningTreeDistribution(self.root, self.pairs, self.candidate_scores, self.candidate_rows)


def document(spans: int, std: float, tight: float = 0.0, seed: int = 0) -> Document:
    """Gaussian scores. A sixth of the spans are no gold mentions, the others clusters of four, every other linked.

    Args:
        spans: Number of spans N.
        std: Standard deviation of the scores.
        tight: Added to the edges within gold clusters.
        seed: Of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) * std

    clusters = torch.arange(spans) // 4
    candidate_rows = torch.randint(ENTITIES, (spans, CANDIDATES), generator=generator)
    linked = clusters % 2 == 0
    entities = torch.where(linked, candidate_rows[clusters * 4, 0], -1)
    clusters[: spans // 6] = -1
    entities[: spans // 6] = -1
    pairs = normal(spans, spans) + tight * ((clusters[:, None] == clusters) & (clusters >= 0))
    # Cut at the left edge, a cluster may have lost the span that has its entity as a candidate.
    for cluster in clusters[clusters >= 0].unique().tolist():
        members = (clusters == cluster).nonzero().flatten()
        if entities[members[0]] >= 0:
            candidate_rows[members[0], 0] = entities[members[0]]
    parts = normal(spans), pairs, normal(spans, CANDIDATES)
    root, pairs, candidates = (part[None].requires_grad_() for part in parts)
    return Document(root, pairs, candidates, candidate_rows[None], clusters[None], entities[None])


def our_loss(doc: Document) -> Tensor:
    """Minus the log-probability of the gold."""
    return -doc.distribution().log_prob(doc.gold_clusters, doc.gold_entities).sum()


def lu_loss(doc: Document) -> Tensor:
    """The same loss from two determinants of size N."""
    n = doc.root.shape[1]
    root, pairs, candidates = doc.root[0].double(), doc.pairs[0].double(), doc.candidate_scores[0].double()
    rho = torch.logsumexp(torch.cat([root[:, None], candidates], dim=1), dim=1)
    top = torch.maximum(rho, pairs.masked_fill(torch.eye(n, dtype=torch.bool), -math.inf).amax(dim=0)).detach()
    weights = torch.exp(pairs - top).masked_fill(torch.eye(n, dtype=torch.bool), 0.0)
    log_partition = torch.linalg.slogdet(torch.diag(weights.sum(dim=0) + torch.exp(rho - top)) - weights).logabsdet

    clusters, entities = doc.gold_clusters[0], doc.gold_entities[0]
    clusters = torch.where(clusters < 0, n + torch.arange(n), clusters)
    gold_candidates = (doc.candidate_rows[0] == entities[:, None]) & (entities >= 0)[:, None]
    linked = torch.exp(candidates.masked_fill(~gold_candidates, -math.inf) - top[:, None]).sum(dim=1)
    inside = weights * (clusters[:, None] == clusters)
    matrix = torch.diag(inside.sum(dim=0) + linked) - inside
    # Koo et al. (2007): the root's weights replace the first row of each unlinked block.
    first = torch.tensor([int((clusters == cluster).nonzero()[0]) for cluster in clusters.tolist()])
    koo = (first == torch.arange(n)) & (entities < 0)
    root_rows = torch.exp(root - top) * (clusters[:, None] == clusters)
    log_numerator = torch.linalg.slogdet(torch.where(koo[:, None], root_rows, matrix)).logabsdet
    return log_partition - log_numerator


def decode(doc: Document) -> object:
    """The maximum spanning tree, from scratch."""
    return doc.distribution().argmax


def link(doc: Document) -> object:
    """The entity marginals, from scratch."""
    return doc.distribution().entity_marginals


def milliseconds(run: Callable[[Document], object], doc: Document, repeats: int) -> float:
    """Best time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(doc)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def loss_times(loss: Callable[[Document], Tensor], doc: Document, repeats: int) -> tuple[float, float, float]:
    """Best milliseconds of forward, backward and both together."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = loss(doc)
        middle = time.perf_counter()
        torch.autograd.grad(value, [doc.root, doc.pairs, doc.candidate_scores])
        end = time.perf_counter()
        times.append((middle - start, end - middle, end - start))
    forward, backward, both = (min(column) * 1e3 for column in zip(*times, strict=True))
    return forward, backward, both


def log_space_loss(doc: Document) -> float:
    """The loss with every elimination in log space."""
    limit = elimination.LINEAR_SPACE_LIMIT
    elimination.LINEAR_SPACE_LIMIT = -math.inf
    try:
        return our_loss(doc).item()
    finally:
        elimination.LINEAR_SPACE_LIMIT = limit


def networkx_decode(doc: Document) -> None:
    """Decoding on root, entities and spans, each a node of its own."""
    graph = nx.DiGraph()
    n = doc.root.shape[1]
    graph.add_weighted_edges_from(("root", j, weight) for j, weight in enumerate(doc.root[0].tolist()))
    for j in range(n):
        for entity, weight in zip(doc.candidate_rows[0, j].tolist(), doc.candidate_scores[0, j].tolist(), strict=True):
            graph.add_edge("root", ("entity", entity), weight=0.0)
            graph.add_edge(("entity", entity), j, weight=weight)
    pairs = doc.pairs[0].tolist()
    graph.add_weighted_edges_from((i, j, pairs[i][j]) for i in range(n) for j in range(n) if i != j)
    nx.maximum_spanning_arborescence(graph)


def cpu_name() -> str:
    """Name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> None:
    """Prints both tables."""
    torch.set_num_threads(1)
    print(f"{cpu_name()}, one thread, torch {torch.__version__}, numpy {np.__version__}; milliseconds\n")
    print(f"Loss of one document of {SPANS} spans with {CANDIDATES} candidates each (in brackets: times LU float64)")
    print(f"{'scores':>22} {'path':>11} {'forward':>8} {'backward':>9} {'both':>14} {'error':>9} {'LU error':>9}")
    for std, tight in ((1, 0), (3, 0), (30, 0), (300, 0), (3, 10), (3, 30), (3, 300), (3, 3000)):
        doc = document(SPANS, std, tight)
        ours, plain = loss_times(our_loss, doc, 20), loss_times(lu_loss, doc, 20)
        exact = log_space_loss(doc)
        errors = (abs(loss(doc).item() - exact) / max(1.0, abs(exact)) for loss in (our_loss, lu_loss))
        label = f"std {std}" + (f", clusters +{tight}" if tight else "")
        print(
            f"{label:>22} {path(doc):>11} {ours[0]:8.1f} {ours[1]:9.1f} {ours[2]:7.1f} ({ours[2] / plain[2]:4.1f})",
            *(f"{error:9.0e}" for error in errors),
        )
    print(f"{'released code':>22} {'':>11} {ORIGINAL['forward']:8.0f} {ORIGINAL['backward']:9.0f}", end=" ")
    print(f"{ORIGINAL['forward'] + ORIGINAL['backward']:7.0f}  (stated, measured elsewhere)\n")

    print("Decoding, entity marginals and the whole loss by size (std 3)")
    print(f"{'spans':>8} {'decode':>8} {'networkx':>9} {'entities':>9} {'loss, both':>11} {'LU':>8}")
    for spans, repeats in ((50, 20), (SPANS, 20), (400, 5), (1000, 3)):
        doc = document(spans, 3.0)
        plain_decode = f"{milliseconds(networkx_decode, doc, 2):9.0f}" if spans <= 50 else f"{'':9}"
        both, plain_both = loss_times(our_loss, doc, repeats)[2], loss_times(lu_loss, doc, repeats)[2]
        times = f"{milliseconds(decode, doc, repeats):8.1f} {plain_decode} {milliseconds(link, doc, repeats):9.1f}"
        print(f"{spans:8} {times} {both:11.1f} {plain_both:8.1f}")
    print(f"{'released':>8} {ORIGINAL['decode']:8.0f}  (stated: networkx, {SPANS} spans, measured elsewhere)")


def path(doc: Document) -> str:
    """How the sum over all trees is computed."""
    result = elimination.eliminate(folded(doc))
    if result.lu is None:
        return "log" if result.in_log_space else "linear"
    return "LU" if lu.inverse_marginals(result.weights, result.lu) is not None else "LU, reverse"


def folded(doc: Document) -> np.ndarray:
    """Log-weights [N + 1, N] with the candidates folded into the root."""
    above = torch.cat([doc.root[0][:, None], doc.candidate_scores[0]], dim=1).double().logsumexp(dim=1)
    return torch.cat([doc.pairs[0].double(), above[None]]).detach().numpy()


if __name__ == "__main__":
    main()
