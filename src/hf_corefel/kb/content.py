"""A fingerprint of what a knowledge base says, however it came to say so and whatever files it is in.

It is the SHA-256 of sums, each modulo 2^128, of 128-bit hashes (XXH3) of the parts: a sum is the same in any order.
There is a part for every entity (name, description, Wikidata id, URL, type, number of links), every candidate of every
surface (surface, entity, prior), every redirect, and every vector that an entity was given. Vectors that are made of
texts when they are needed, and where the data come from, are no parts. It tells knowledge bases apart; it is no
protection against somebody who wants two to look the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import xxhash

from .normal_form import SURFACE_FORM, normal_form
from .tables import TEXTS, Tables
from .text_table import TextTable

__all__ = ["content_fingerprint"]

_MODULUS = 1 << 128
_CHUNK = 65_536


def content_fingerprint(tables: Tables) -> str:
    """Return the fingerprint of what tables say, in hexadecimal. Reads all of them."""
    sums = {
        "entities": _sum(_entities(tables)),
        "candidates": _candidates(tables),
        "redirects": _redirects(tables),
        "vectors": _vectors(tables),
    }
    digest = hashlib.sha256(json.dumps([tables.url_template, {name: f"{sums[name]:032x}" for name in sums}]).encode())
    if tables.projection is not None:
        for _, array in tables.projection.items():
            digest.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
    return digest.hexdigest()


def _sum(parts: Iterable[bytes]) -> int:
    return sum(map(xxhash.xxh3_128_intdigest, parts)) % _MODULUS


def _entities(tables: Tables) -> Iterator[bytes]:
    """Give for each entity its name and its facts, each text after its length."""
    for begin in range(0, tables.num_entities, _CHUNK):
        end = min(begin + _CHUNK, tables.num_entities)
        count = end - begin
        texts = [_texts(getattr(tables, name), begin, end) for name in TEXTS]
        types = [0] * count if tables.types is None else tables.types.codes[begin:end].tolist()
        links = [-1] * count if tables.links is None else tables.links.counts[begin:end].tolist()
        for row, number in enumerate(range(begin, end)):
            name = tables.entities.restore_key(number).encode()
            told = [column[row] for column in texts]
            lengths = " ".join([str(len(text)) for text in told])
            yield b"\0".join([name, f"{types[row]} {links[row]} {lengths}".encode(), *told])


def _texts(table: TextTable | None, begin: int, end: int) -> list[bytes]:
    """The texts of the entities from `begin` to before `end` in UTF-8; an empty one is none."""
    if table is None:
        return [b""] * (end - begin)
    bounds = table.offsets[begin : end + 1].astype(np.int64)
    text = table.text[bounds[0] : bounds[-1]].tobytes()
    places = (bounds - bounds[0]).tolist()
    return [text[first:last] for first, last in pairwise(places)]


def _redirects(tables: Tables) -> int:
    if tables.redirects is None:
        return 0
    name_of = tables.entities.restore_key
    return _sum(f"{title}\0{name_of(target)}".encode() for title, target in tables.redirects.pairs())


def _vectors(tables: Tables) -> int:
    table = tables.vectors
    owners = np.flatnonzero(table.rows >= 0)
    total = 0
    for begin in range(0, len(owners), _CHUNK):
        part = owners[begin : begin + _CHUNK]
        vectors = table.take(part, None).astype("<f4")
        names = map(tables.entities.restore_key, part.tolist())
        total += _sum(name.encode() + b"\0" + row.tobytes() for name, row in zip(names, vectors, strict=True))
    return total % _MODULUS


def _candidates(tables: Tables) -> int:
    """The sum over all candidates, from hashes of their surfaces and entities: no string is made for a pair."""
    aliases, restore = tables.aliases, tables.aliases.surfaces.restore_key
    normal = aliases.surface_form == SURFACE_FORM
    name_of, count = tables.entities.restore_key, tables.num_entities
    entities = np.zeros((count, 2), dtype=np.uint64)
    for begin in range(0, count, _CHUNK):
        entities[begin : begin + _CHUNK] = _hashes(map(name_of, range(begin, min(begin + _CHUNK, count))))
    halves = np.zeros(2, dtype=np.uint64)
    for begin in range(0, tables.num_surfaces, _CHUNK):
        end = min(begin + _CHUNK, tables.num_surfaces)
        surfaces = _hashes(restore(row) if normal else normal_form(restore(row)) for row in range(begin, end))
        offsets = aliases.offsets[begin : end + 1].astype(np.int64)
        first, last = offsets[[0, -1]]
        pairs = _mixed(np.repeat(surfaces, offsets[1:] - offsets[:-1], axis=0))
        pairs += entities[aliases.entity_ids[first:last]]
        priors = np.ascontiguousarray(aliases.priors[first:last]).view(np.uint32).astype(np.uint64)
        halves += _mixed(_mixed(pairs) + priors[:, None]).sum(axis=0, dtype=np.uint64)
    high, low = halves.tolist()
    return int(high << 64 | low)


def _hashes(names: Iterable[str]) -> np.ndarray:
    """Return the halves of the hashes of M names, uint64 ``[M, 2]``."""
    digests = b"".join([xxhash.xxh3_128_digest(name.encode()) for name in names])
    return np.frombuffer(digests, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return 64-bit numbers of which every bit depends on every bit: SplitMix64 (Steele et al., 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
