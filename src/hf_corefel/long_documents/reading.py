"""The first half of reading a long document: its windows are encoded, and its best spans chosen, a stretch at a time.

What a stretch needs is forgotten after it, but for the vectors of the spans that are retained. A stretch retains its
share of the document's spans, by its words, so that the ratio holds everywhere in a book; a span belongs to the stretch
where it ends, and no retained span crosses another, also not one of the stretch before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from ..layers.enumerated import SpanTensors, score_spans
from ..layers.pruner import SpanChooser
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor, EncodedDocument

__all__ = ["ReadSpans", "read_spans"]

# Windows of a stretch, and of these so many that are encoded at once.
_STRETCH, _AT_ONCE = 32, 8


@dataclass(frozen=True)
class ReadSpans:
    """The retained spans of a long document.

    Attributes:
        retained: ``[N]`` their numbers among the document's spans, in reading order.
        mention: ``[N]`` their mention scores Φp.
        vectors: ``[N, G]`` what the encoder makes of them.
        order: int64 ``[N]`` which of the spans that there was room for each is, by which two of them are near or far.
    """

    retained: np.ndarray
    mention: Tensor
    vectors: Tensor
    order: Tensor


def read_spans(
    model: CorefELModel, processor: CorefELProcessor, document: EncodedDocument, least: float = -math.inf
) -> ReadSpans:
    """Encode a document and retain its best spans.

    Args:
        model: The model.
        processor: What encoded the document.
        document: The document; it has a span at least.
        least: The least mention score of a span that is retained for its score.
    """
    spans = document.spans
    device = model.pruner.project.weight.device
    scope = torch.tensor([document.scope], device=device)
    longest = int((spans.end - spans.begin).max())
    by_end = np.argsort(spans.end, kind="stable")
    ends = spans.end[by_end]
    words = np.maximum.accumulate((spans.word + spans.width)[by_end])
    chooser = SpanChooser(int(spans.end.max()) + 1)
    tail = torch.zeros(1, 0, 0)
    room, retained, mention, vectors = [], [], [], []
    used = 0
    for first, stop in _stretches(document):
        encoded = torch.cat([_encode(model, processor, document, *part) for part in _parts(first, stop)], dim=1)
        begin = int(np.searchsorted(document.windows.window, first))
        subwords = torch.cat([tail.to(encoded), encoded], dim=1) if tail.shape[1] else encoded
        offset = begin - tail.shape[1]
        last = begin + encoded.shape[1]
        tail = subwords[:, max(0, subwords.shape[1] - longest) :].clone()
        here = np.sort(by_end[np.searchsorted(ends, begin, side="right") : np.searchsorted(ends, last, side="right")])
        if not len(here):
            continue
        table = _table(document, here, offset, scope)
        scores, vectors_at = score_spans(model.spans, model.pruner, subwords, table)
        if document.keep_all:
            chosen = np.arange(len(here))
        else:
            # Of what the document may keep: the part of its words that are read by now, less what was kept.
            read = words[np.searchsorted(ends, last, side="right") - 1] / words[-1]
            share = int(document.limit * read) - used
            places = scores[0].float().cpu().numpy(), spans.begin[here], spans.end[here]
            chosen = np.sort(chooser.choose(*places, max(share, 0)))
            used += len(chosen)
        room.append(here[chosen])
        if least > -math.inf and not document.keep_all:
            chosen = chosen[scores[0].float().cpu().numpy()[chosen] >= least]
        index = torch.from_numpy(chosen).to(device).unsqueeze(0)
        retained.append(here[chosen])
        mention.append(scores.gather(1, index)[0])
        vectors.append(vectors_at(index, torch.ones_like(index, dtype=torch.bool))[0])
    numbers, all_numbers = np.concatenate(retained), np.concatenate(room)
    order = np.lexsort((spans.end[numbers], spans.begin[numbers]))
    numbers = numbers[order]
    rank = np.empty(len(spans), dtype=np.int64)
    rank[all_numbers[np.lexsort((spans.end[all_numbers], spans.begin[all_numbers]))]] = np.arange(len(all_numbers))
    place = torch.from_numpy(order).to(device)
    return ReadSpans(
        numbers, torch.cat(mention)[place], torch.cat(vectors)[place], torch.from_numpy(rank[numbers]).to(device)
    )


def _stretches(document: EncodedDocument) -> Iterator[tuple[int, int]]:
    """First window and end of each stretch."""
    count = len(document.windows.bounds)
    # No stub at the end, which would be alone with its share.
    number = max(1, round(count / _STRETCH))
    yield from pairwise(round(count * n / number) for n in range(number + 1))


def _parts(first: int, stop: int) -> Iterator[tuple[int, int]]:
    for start in range(first, stop, _AT_ONCE):
        yield start, min(start + _AT_ONCE, stop)


def _encode(
    model: CorefELModel, processor: CorefELProcessor, document: EncodedDocument, first: int, stop: int
) -> Tensor:
    """The vectors ``[1, T, H]`` of the subwords that are read in some windows."""
    prefix, suffix = processor.special_tokens
    bounds = document.windows.bounds[first:stop]
    length = max(end - begin for begin, end in bounds) + len(prefix) + len(suffix)
    input_ids = np.full((len(bounds), length), processor.tokenizer.pad_token_id or 0, dtype=np.int64)
    attention = np.zeros((len(bounds), length), dtype=np.int64)
    for w, (begin, end) in enumerate(bounds):
        row = [*prefix, *document.subword_ids[begin:end].tolist(), *suffix]
        input_ids[w, : len(row)] = row
        attention[w, : len(row)] = 1
    here = slice(*np.searchsorted(document.windows.window, [first, stop]))
    windows, offsets = document.windows.window[here], document.windows.offset[here]
    positions = (windows - first) * length + offsets + len(prefix)
    device = model.pruner.project.weight.device
    tensors = (torch.from_numpy(array).unsqueeze(0).to(device) for array in (input_ids, attention, positions))
    encoded: Tensor = model.encoder(*tensors)
    return encoded


def _table(document: EncodedDocument, rows: np.ndarray, offset: int, scope: Tensor) -> SpanTensors:
    """Some spans of a document, over subwords that begin at an offset."""
    spans = document.spans

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).unsqueeze(0).to(scope.device)

    begin, end = tensor(spans.begin[rows] - offset), tensor(spans.end[rows] - offset)
    width, case = tensor(spans.width[rows]), tensor(spans.case[rows])
    return SpanTensors(begin, end, width, case, torch.ones_like(begin, dtype=torch.bool), scope)
