"""Small graphs, the trees of which can be written down one by one."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel.trees import SpanningTreeDistribution, elimination

DATA = Path(__file__).parents[1] / "data"

Clustering = frozenset[tuple[frozenset[int], int | None]]


@dataclass
class Graph:
    """Scores of one document: root [N], span_to_span [N, N], candidate_scores [N, K], candidate_rows [N, K]."""

    root: np.ndarray
    span_to_span: np.ndarray
    candidate_scores: np.ndarray
    candidate_rows: np.ndarray

    def tensors(self, requires_grad: bool = False) -> tuple[torch.Tensor, ...]:
        """Root, span-to-span and candidate scores and entity ids, each with a batch axis of one document."""
        scores = [
            torch.tensor(array[None], dtype=torch.float64, requires_grad=requires_grad)
            for array in (self.root, self.span_to_span, self.candidate_scores)
        ]
        return (*scores, torch.tensor(self.candidate_rows[None], dtype=torch.int64))

    def distribution(self, mask: torch.Tensor | None = None) -> SpanningTreeDistribution:
        root, span_to_span, candidates, candidate_rows = self.tensors()
        return SpanningTreeDistribution(root, span_to_span, candidates, candidate_rows, mask)


def gold_tensors(clustering: Clustering, spans: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cluster and entity ids [1, N] of a clustering; unlinked single spans get cluster id -1."""
    cluster_ids = torch.full((1, spans), -1)
    entity_rows = torch.full((1, spans), -1)
    for number, (members, entity) in enumerate(sorted(clustering, key=lambda cluster: sorted(cluster[0]))):
        if len(members) > 1 or entity is not None:
            cluster_ids[0, list(members)] = number
            entity_rows[0, list(members)] = -1 if entity is None else entity
    return cluster_ids, entity_rows


@dataclass
class Enumeration:
    """Everything about a graph, by listing its trees: one list of parents and one score each."""

    trees: list[tuple[int, ...]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    clusterings: list[Clustering] = field(default_factory=list)

    @property
    def log_partition(self) -> float:
        return log_sum(self.scores)

    def probability(self, holds: Callable[[int], bool]) -> float:
        """Total probability of the trees whose number satisfies a condition."""
        total = self.log_partition
        return math.fsum(math.exp(score - total) for i, score in enumerate(self.scores) if holds(i))

    def entropy(self) -> float:
        logs = [score - self.log_partition for score in self.scores]
        return -math.fsum(math.exp(log) * log for log in logs)

    def log_numerator(self, clustering: Clustering) -> float:
        return log_sum([s for s, c in zip(self.scores, self.clusterings, strict=True) if c == clustering])


def log_sum(logs: list[float]) -> float:
    if not logs:
        return -math.inf
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))


def cluster(parents: tuple[int, ...], candidate_rows: np.ndarray) -> Clustering | None:
    """The clustering a tree decodes to, None if the parents make a cycle."""
    n = len(parents)
    linked: dict[int, set[int]] = {}
    unlinked: dict[int, set[int]] = {}
    for span in range(n):
        head = span
        for _ in range(n):
            if parents[head] < n:
                head = parents[head]
        if parents[head] < n:
            return None
        if parents[head] == n:
            unlinked.setdefault(head, set()).add(span)
        else:
            linked.setdefault(int(candidate_rows[head, parents[head] - n - 1]), set()).add(span)
    return frozenset(
        [(frozenset(members), entity) for entity, members in linked.items()]
        + [(frozenset(members), None) for members in unlinked.values()]
    )


def enumerate_trees(graph: Graph) -> Enumeration:
    n = len(graph.root)
    columns = np.hstack([graph.span_to_span.T, graph.root[:, None], graph.candidate_scores])
    columns[np.arange(n), np.arange(n)] = -np.inf
    columns[:, n + 1 :][graph.candidate_rows < 0] = -np.inf
    result = Enumeration()
    for parents in itertools.product(*(np.flatnonzero(column > -np.inf).tolist() for column in columns)):
        clustering = cluster(parents, graph.candidate_rows)
        if clustering is not None:
            result.trees.append(parents)
            result.scores.append(math.fsum(columns[span, parent] for span, parent in enumerate(parents)))
            result.clusterings.append(clustering)
    return result


def random_graph(seed: int, *, spans: int | None = None, missing: float = 0.3) -> Graph:
    """A graph of up to four spans and two candidates each, with missing edges, equal scores and padding."""
    rng = np.random.default_rng(seed)
    n = spans or int(rng.integers(1, 5))
    width = int(rng.integers(0, 3))
    scale = float(rng.choice([0.0, 1.0, 5.0, 40.0]))

    def scores(*shape: int) -> np.ndarray:
        values = rng.normal(size=shape) * scale
        if rng.random() < 0.3:
            values = np.round(values / max(scale, 1.0))
        values[rng.random(shape) < missing] = -np.inf
        return values

    candidate_rows = rng.integers(-1, 3, size=(n, width))
    return Graph(scores(n), scores(n, n), scores(n, width), candidate_rows)


def read_case(case: dict[str, Any]) -> tuple[Graph, torch.Tensor, torch.Tensor]:
    """A graph of spanning_trees.json with its gold cluster and entity ids [1, N]; entity k has the id 10 + k."""

    def array(rows: list[Any]) -> np.ndarray:
        return np.array(rows, dtype=np.float64)  # null becomes NaN

    n = len(case["root_to_span"])
    candidates = array(case["entity_to_span"]).reshape(-1, n).T
    graph = Graph(
        np.nan_to_num(array(case["root_to_span"]), nan=-np.inf),
        np.nan_to_num(array(case["span_to_span"]), nan=-np.inf),
        np.nan_to_num(candidates, nan=-np.inf),
        np.where(np.isnan(candidates), -1, 10 + np.arange(candidates.shape[1])),
    )
    cluster_ids = torch.full((1, n), -1)
    entity_rows = torch.full((1, n), -1)
    for number, gold in enumerate(case["gold"]):
        cluster_ids[0, gold["spans"]] = number
        entity_rows[0, gold["spans"]] = -1 if gold["entity"] is None else 10 + gold["entity"]
    return graph, cluster_ids, entity_rows


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "oracle_case" in metafunc.fixturenames:
        cases = json.loads((DATA / "spanning_trees.json").read_text(encoding="utf-8"))
        ids = [f"{number}-scale{case['scale']}" for number, case in enumerate(cases)]
        metafunc.parametrize("oracle_case", cases, ids=ids)
    if "original_case" in metafunc.fixturenames:
        cases = json.loads((DATA / "authors_loss_decode.json").read_text(encoding="utf-8"))["mtt"]
        metafunc.parametrize("original_case", cases, ids=range(len(cases)))


@pytest.fixture(scope="session")
def appendix() -> dict[str, Any]:
    """The worked example of the paper's appendix."""
    result: dict[str, Any] = json.loads((DATA / "authors_loss_decode.json").read_text(encoding="utf-8"))["appendix"]
    return result


@pytest.fixture(params=["linear", "log"])
def space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test as the library would, and once more with log space forced on every graph."""
    if request.param == "log":
        monkeypatch.setattr(elimination, "LINEAR_SPACE_LIMIT", -math.inf)
    mode: str = request.param
    return mode


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., Graph]:
    """`random_graph`."""
    return random_graph


@pytest.fixture(scope="session")
def graph_type() -> type[Graph]:
    """`Graph`."""
    return Graph


@pytest.fixture(scope="session")
def enumerated() -> Callable[[Graph], Enumeration]:
    """`enumerate_trees`."""
    return enumerate_trees


@pytest.fixture(scope="session")
def as_gold() -> Callable[[Clustering, int], tuple[torch.Tensor, torch.Tensor]]:
    """`gold_tensors`."""
    return gold_tensors


@pytest.fixture(scope="session")
def decoded() -> Callable[[tuple[int, ...], np.ndarray], Clustering | None]:
    """`cluster`."""
    return cluster


@pytest.fixture
def oracle(oracle_case: dict[str, Any]) -> tuple[Graph, torch.Tensor, torch.Tensor]:
    """`read_case` of the current case."""
    return read_case(oracle_case)
