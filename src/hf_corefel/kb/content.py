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
from collections.abc import Iterable
from typing import Any

import numpy as np
import xxhash

from .normal_form import SURFACE_FORM, normal_form
from .tables import FACTS, Tables

__all__ = ["content_fingerprint"]

_MODULUS = 1 << 128
_CHUNK = 65_536


def content_fingerprint(tables: Tables) -> str:
    """Return the fingerprint of what tables say, in hexadecimal. Reads all of them."""
    sums = {
        "entities": _sum(_entity(tables, number) for number in range(tables.num_entities)),
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


def _part(*values: Any) -> bytes:
    return json.dumps(values).encode()


def _entity(tables: Tables, number: int) -> bytes:
    facts = [getattr(tables, name) for name in FACTS]
    return _part(
        tables.entities.restore_key(number), *(None if table is None else table.get(number) for table in facts)
    )


def _redirects(tables: Tables) -> int:
    if tables.redirects is None:
        return 0
    name_of = tables.entities.restore_key
    return _sum(_part(title, name_of(target)) for title, target in tables.redirects.pairs())


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
    total = 0
    for seed in (0, 1):
        entities = _hashes(map(tables.entities.restore_key, range(tables.num_entities)), tables.num_entities, seed)
        half = np.uint64(0)
        for begin in range(0, tables.num_surfaces, _CHUNK):
            end = min(begin + _CHUNK, tables.num_surfaces)
            names = (restore(row) if normal else normal_form(restore(row)) for row in range(begin, end))
            surfaces = _hashes(names, end - begin, seed)
            first, last = int(aliases.offsets[begin]), int(aliases.offsets[end])
            offsets = aliases.offsets[begin : end + 1].astype(np.int64)
            lengths = offsets[1:] - offsets[:-1]
            pairs = _mixed(np.repeat(surfaces, lengths)) + entities[aliases.entity_ids[first:last]]
            priors = np.ascontiguousarray(aliases.priors[first:last]).view(np.uint32).astype(np.uint64)
            with np.errstate(over="ignore"):
                half += np.sum(_mixed(_mixed(pairs) + priors), dtype=np.uint64)
        total = total << 64 | int(half)
    return total


def _hashes(names: Iterable[str], count: int, seed: int) -> np.ndarray:
    digests = (xxhash.xxh3_64_intdigest(name.encode(), seed) for name in names)
    return np.fromiter(digests, dtype=np.uint64, count=count)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return 64-bit numbers of which every bit depends on every bit: SplitMix64 (Steele et al., 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
