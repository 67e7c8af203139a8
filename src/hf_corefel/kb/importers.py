"""Readers of other projects' files: counts, Wikipedia2Vec, and the inputs of end2end_neural_el (AIDA+)."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from .errors import KnowledgeBaseError
from .normal_form import normal_form
from .readers import AliasRow, check_alias_row, check_surface, check_unseen, read_lines, shown

__all__ = [
    "End2EndFiles",
    "Scores",
    "count_rows",
    "end2end_vectors",
    "read_counts",
    "read_p_e_m",
    "read_wiki_names",
    "read_wikipedia2vec_text",
    "title_rows",
]

Scores = Literal["auto", "prior", "count"]
Count = tuple[str, str, float]

# So many lines say whether a file holds shares or counts.
_PEEKED = 1000
_ENTITY_PREFIX = "ENTITY/"


def read_counts(path: str | Path) -> Iterator[Count]:
    """Yields (surface, entity, count) of the lines of a tab-separated file, plain or ``.gz``.

    Raises:
        KnowledgeBaseError: When a line has not three fields or its count is no number above 0; the message names the
            file and the line.
    """
    for where, line in read_lines(path):
        fields = line.split("\t")
        if len(fields) != 3:
            raise KnowledgeBaseError(
                f"{where}: expected surface, entity and count with tabs between, got {shown(line)}"
            )
        # A blank at its end, which nobody sees, would make another entity.
        entity = fields[1].strip()
        check_alias_row(fields[0], [(entity, 0.0)], where)
        yield fields[0], entity, _number(fields[2], where, "count")


def count_rows(counts: Iterable[Count], unseen: float = 1.0) -> list[AliasRow]:
    """Adds up the counts of every surface and entity; a prior is an entity's share of its surface's counts.

    Args:
        counts: Surface, entity and count.
        unseen: How many more times a surface counts, for something that was not seen; 0 gives plain shares.

    Raises:
        KnowledgeBaseError: When a count is not above 0, or those of one surface and entity add up to what is too large
            for a float, or `unseen` is no number from 0 on.
    """
    mass = check_unseen(unseen)
    table: dict[str, dict[str, float]] = {}
    for i, (surface, entity, count) in enumerate(counts):
        if not 0 < count < float("inf"):
            raise KnowledgeBaseError(f"counts[{i}], surface {shown(surface)}: expected a count above 0, got {count!r}")
        row = table.setdefault(check_surface(surface, f"counts[{i}]"), {})
        row[entity] = row.get(entity, 0.0) + count
        if row[entity] == float("inf"):
            raise KnowledgeBaseError(
                f"counts[{i}], surface {shown(surface)}, entity {shown(entity)}: the counts add up to more than a "
                "float holds (1.8e308); give smaller ones"
            )
    return [
        AliasRow(surface, list(zip(row, _shares(list(row.values()), unseen=mass), strict=True)))
        for surface, row in table.items()
    ]


def _shares(counts: list[float], total: float = 0.0, unseen: float = 0.0) -> list[float]:
    """What each count is of their sum, or of a total that is larger, and `unseen`; 0 where all are 0."""
    # The sum of what is at most 1 cannot overflow, as that of large counts can.
    largest = max(total, unseen, *counts, 0.0)
    if largest == 0:
        return [0.0] * len(counts)
    scaled = [count / largest for count in counts]
    whole = max(total / largest, sum(scaled)) + unseen / largest
    return [count / whole for count in scaled]


def title_rows(entities: Iterable[str]) -> Iterator[AliasRow]:
    """The title of every entity, underscores as spaces, as its surface, with prior 1."""
    for entity in entities:
        title = normal_form(entity.replace("_", " "))
        if title:
            yield AliasRow(title, [(entity, 1.0)])


def read_wikipedia2vec_text(path: str | Path, entities: Collection[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Reads the entity vectors of a text file of Wikipedia2Vec (Yamada et al., 2020); words are passed over.

    Args:
        path: What ``save_text`` wrote, in any of its formats, plain or ``.gz``: ``ENTITY/Some_title 0.1 0.2 ...``, or a
            tab after a title with spaces; a first line of two numbers may say how many lines and dimensions there are.
        entities: The names of those to read, with blanks or underscores; all when None. A warning says how many of them
            the file lacks.

    Returns:
        Names as they were asked for, or else with underscores, and float32 [V, D].

    Raises:
        KnowledgeBaseError: When an entity's line has another number of values than the first, or one that is no
            number; the message names the file and the line.
    """
    wanted: dict[str, list[str]] = {}
    for entity in dict.fromkeys(entities or ()):
        wanted.setdefault(entity.replace(" ", "_"), []).append(entity)
    read: set[str] = set()
    names: list[str] = []
    rows: list[np.ndarray] = []
    width: int | None = None
    for number, (where, line) in enumerate(read_lines(path)):
        if number == 0 and len(line.split()) == 2 and all(part.isdecimal() for part in line.split()):
            width = _whole(line.split()[1], where, "number of dimensions")
        if not line.startswith(_ENTITY_PREFIX):
            continue
        title, _, values = line.partition("\t") if "\t" in line else line.partition(" ")
        name = title.removeprefix(_ENTITY_PREFIX).strip().replace(" ", "_")
        asked = [name] if entities is None else wanted.get(name, ())
        if not asked or name in read:
            continue
        try:
            row = np.array(values.split(), dtype=np.float32)
        except ValueError as error:
            raise KnowledgeBaseError(
                f"{where}: entity {shown(name)}: a value is no number: {shown(str(error))}"
            ) from error
        width = len(row) if width is None else width
        if len(row) != width or width == 0 or not name:
            raise KnowledgeBaseError(
                f"{where}: entity {shown(name)}: expected {width or 'some'} values, got {len(row)}"
            )
        if not np.isfinite(row).all():
            raise KnowledgeBaseError(f"{where}: entity {shown(name)}: a value is not a finite float32")
        read.add(name)
        names += asked
        rows += [row] * len(asked)
    if not rows:
        raise KnowledgeBaseError(f"{path}: no line begins with {_ENTITY_PREFIX} and the name of a known entity")
    lacking = [entity for written, listed in wanted.items() if written not in read for entity in listed]
    if lacking:
        warnings.warn(
            f"{path}: it has no vector of {len(lacking):,} of {len(names) + len(lacking):,} entities, such as "
            f"{shown(lacking[0])}; they get one that is drawn",
            stacklevel=2,
        )
    return names, np.stack(rows)


class End2EndFiles(NamedTuple):
    """The files of end2end_neural_el (Kolitsas et al., 2018) that make a knowledge base.

    Example:
        >>> from hf_corefel.kb import End2EndFiles
        >>> End2EndFiles._fields
        ('p_e_m', 'wiki_name_id_map', 'nnid2wikiid', 'ent_vecs')
    """

    p_e_m: Path
    wiki_name_id_map: Path
    nnid2wikiid: Path
    ent_vecs: Path

    @classmethod
    def find(cls, folder: str | Path, p_e_m: str = "prob_yago_crosswikis_wikipedia_p_e_m.txt") -> End2EndFiles:
        """Finds them by their names anywhere below a folder.

        Raises:
            KnowledgeBaseError: When one is missing or there are several.
        """
        found = []
        for name in (p_e_m, "wiki_name_id_map.txt", "nnid2wikiid.txt", "ent_vecs.npy"):
            paths = sorted(Path(folder).rglob(name))
            if not paths:
                raise KnowledgeBaseError(f"{folder}: no file {name!r} in it or below it; end2end_neural_el ships one")
            if len(paths) > 1:
                raise KnowledgeBaseError(f"{folder}: several files {name!r}: {', '.join(map(str, paths))}; keep one")
            found.append(paths[0])
        return cls(*found)


def read_wiki_names(path: str | Path, *, strict: bool = True) -> dict[str, str]:
    """Reads ``wiki_name_id_map.txt``: entity names, with underscores, by Wikipedia page id.

    Raises:
        KnowledgeBaseError: When a line is no title, tab and number; the message names the file and the line. With
            strict=False such lines are passed over, and counted in a warning.
    """
    names: dict[str, str] = {}
    skipped = _Skipped(path, strict)
    for where, line in read_lines(path):
        title, _, page_id = line.rpartition("\t")
        if not title.strip() or not page_id.strip().isdecimal() or "\t" in title:
            skipped.add(where, f"expected a title and its page id with a tab between, got {shown(line)}")
            continue
        names[page_id.strip()] = title.strip().replace(" ", "_")
    skipped.warn()
    return names


def read_p_e_m(
    path: str | Path,
    names: Mapping[str, str] | None = None,
    *,
    scores: Scores = "auto",
    strict: bool = True,
    unseen: float = 1.0,
) -> Iterator[AliasRow]:
    """Yields the rows of a p(e|m) file of Ganea and Hofmann (2017), as end2end_neural_el ships it.

    A line is ``mention<TAB>total<TAB>id,score,title<TAB>...`` with one field a candidate.

    Args:
        path: The file, plain or ``.gz``.
        names: Entity names by page id; candidates whose id it lacks are left out, as end2end_neural_el does. None
            takes the titles that stand in the file.
        scores: What a score is: a "prior", or a "count", which is divided by the larger of the line's total and the sum
            of its counts, and `unseen`. "auto" takes whole numbers in the first thousand lines for counts.
        strict: Raise at a line of another form. Otherwise it is passed over, and counted in a warning.
        unseen: How many more times a mention counts, for something that was not seen; priors are as they are.

    Raises:
        KnowledgeBaseError: When a line has another form, or a prior is not between 0 and 1; the message names the file,
            the line and the mention.
    """
    if scores not in ("auto", "prior", "count"):
        raise KnowledgeBaseError(f"scores: expected auto, prior or count, got {scores!r}")
    mass = check_unseen(unseen)
    counts = _holds_counts(path) if scores == "auto" else scores == "count"
    skipped = _Skipped(path, strict)
    for where, line in read_lines(path):
        try:
            row = _p_e_m_row(line, where, names, mass if counts else None)
        except KnowledgeBaseError as error:
            skipped.add(where, str(error).removeprefix(f"{where}: "))
            continue
        if row.candidates:
            yield row
    skipped.warn()


def _p_e_m_row(line: str, where: str, names: Mapping[str, str] | None, unseen: float | None) -> AliasRow:
    """The row of a line whose scores are counts, with a mass for what was not seen, or priors when that is None."""
    mention, *rest = line.split("\t")
    if not rest:
        raise KnowledgeBaseError(
            f"{where}: expected mention, total and candidates with tabs between, got {shown(line)}"
        )
    total = _number(rest[0], f"{where}, mention {shown(mention)}", "total")
    listed: list[str | None] = []
    scores: list[float] = []
    for field in rest[1:]:
        if not field.strip():
            continue
        parts = [part.strip() for part in field.split(",", 2)]
        if len(parts) != 3:
            raise KnowledgeBaseError(f"{where}, mention {shown(mention)}: expected id,score,title, got {shown(field)}")
        score = _number(parts[1], f"{where}, mention {shown(mention)}, candidate {shown(field)}", "score", least=0.0)
        scores.append(score)
        listed.append(parts[2].replace(" ", "_") if names is None else names.get(parts[0]))
    if unseen is not None:
        scores = _shares(scores, total, unseen)
    pairs = [(name, score) for name, score in zip(listed, scores, strict=True) if name is not None]
    return check_alias_row(mention, pairs, where)


def _holds_counts(path: str | Path) -> bool:
    for number, (_, line) in enumerate(read_lines(path)):
        if number >= _PEEKED:
            break
        for field in line.split("\t")[2:]:
            parts = field.split(",", 2)
            if len(parts) == 3 and not parts[1].strip().isdecimal():
                return False
    return True


def end2end_vectors(
    ent_vecs: str | Path, nnid2wikiid: str | Path, names: Mapping[str, str]
) -> tuple[list[str], np.ndarray]:
    """Entity vectors of end2end_neural_el.

    Args:
        ent_vecs: ``ent_vecs.npy``, an array [V, D].
        nnid2wikiid: Lines ``nnid<TAB>page id``. They count the array's rows from 1, as Torch for Lua does, or from 0 if
            there is a 0. Row 0 of the authors' array stands for unknown entities, as page 1, which has no name.
        names: Entity names by page id; rows of other pages are left out.

    Returns:
        Names and float [V', D].

    Raises:
        KnowledgeBaseError: When a file is no such file, or a row lies outside the array.
    """
    path = Path(ent_vecs)
    if not path.is_file():
        raise KnowledgeBaseError(f"{path}: file not found, or no file")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        # Its header is read by Python's own parser, which raises much else than ValueError when it is damaged.
        raise KnowledgeBaseError(f"{path}: not an array of numpy, or a truncated one: {error}") from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind != "f":
        raise KnowledgeBaseError(f"{path}: expected one array [V, D] of floats")
    rows: list[tuple[int, str, str]] = []
    for where, line in read_lines(nnid2wikiid):
        fields = line.split()
        if len(fields) != 2 or not all(field.isdecimal() for field in fields):
            raise KnowledgeBaseError(f"{where}: expected the numbers nnid and page id, got {shown(line)}")
        rows.append((_whole(fields[0], where, "nnid"), fields[1], where))
    first = min((number for number, _, _ in rows), default=0)
    chosen: dict[str, int] = {}
    for number, page_id, where in rows:
        row = number if first == 0 else number - 1
        if row >= len(array):
            raise KnowledgeBaseError(f"{where}: nnid {number} is outside the {len(array)} rows of {path}")
        name = names.get(page_id)
        if name is not None:
            chosen.setdefault(name, row)
    return list(chosen), np.asarray(array[np.fromiter(chosen.values(), dtype=np.int64, count=len(chosen))])


def _whole(text: str, where: str, what: str) -> int:
    """A whole number of decimal digits."""
    try:
        return int(text)
    except ValueError as error:
        raise KnowledgeBaseError(f"{where}: expected a {what}, got {shown(text)}") from error


def _number(text: str, where: str, what: str, least: float | None = None) -> float:
    """A finite number above 0, or from `least` on."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (number > 0 if least is None else number >= least) or number == float("inf"):
        raise KnowledgeBaseError(
            f"{where}: expected a {what} {'above 0' if least is None else 'from 0 on'}, got {shown(text)}"
        )
    return number


class _Skipped:
    """Lines of another form: an error where they are not to be passed over, else one warning for all."""

    def __init__(self, path: str | Path, strict: bool) -> None:
        self.path, self.strict, self.count, self.first = path, strict, 0, ""

    def add(self, where: str, what: str) -> None:
        if self.strict:
            raise KnowledgeBaseError(f"{where}: {what}")
        self.count += 1
        self.first = self.first or f"{where}: {what}"

    def warn(self) -> None:
        if self.count:
            warnings.warn(f"{self.path}: {self.count} lines were passed over; {self.first}", stacklevel=2)
