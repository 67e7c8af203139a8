"""The tables, sentences and curves of the report, as Markdown and SVG, from stored scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from curves import Line, Panel, chart
from report_claims import MINUS, PAPER, BySystem, claims, interval, table
from report_scores import METRICS, Stored, System, difference, spread
from run_files import Run
from stored_results import SHARES, SIZES

__all__ = ["CURVES", "curves", "missing_runs", "page"]

NAMES = {"coref": "coreference", "el_m": "EL_m", "el_h": "EL_h", "hard": "hard cases"}
SYSTEMS = ("Standalone", "Merged", "Local", "Global")
CURVES = {"size": "el_h_by_cluster_size.svg", "share": "el_h_by_candidates.svg"}
_CORPORA = {"dwie": "DWIE", "aida": "AIDA"}


# What a table compares --------------------------------------------------------------------------------


def _systems(stored: Sequence[Stored], table: str, corpus: str, part: str) -> dict[str, System]:
    """The paper's three systems on a part: of the standalone pair, one model clusters and the other links."""
    found = {name: System(name) for name in SYSTEMS}
    for each in stored:
        run = each.run
        if run.settings["table"] != table or run.settings["corpus"] != corpus or part not in each.parts:
            continue
        name = {"local": "Local", "global": "Global"}.get(run.head, "Merged" if run.merges else "Standalone")
        metrics = list(METRICS)
        if run.head == "standalone_coref":
            metrics = ["coref"]
        elif not run.merges and run.head == "standalone_linking":
            metrics.remove("coref")
        for metric in metrics:
            found[name].seeds.setdefault(metric, {})[each.seed] = each.parts[part]
    return found


def _parts(queue: Sequence[Run], table: str) -> list[tuple[str, str]]:
    """The corpora and parts of a table in the order of the queue, without development parts."""
    pairs = [(run.settings["corpus"], part) for run in queue if run.settings["table"] == table for part in run.parts]
    return [pair for pair in dict.fromkeys(pairs) if pair[1] != "dev"]


def _title(corpus: str, part: str) -> str:
    return f"{_CORPORA.get(corpus, corpus)} {part}"


# Cells ------------------------------------------------------------------------------------------------


def _value(system: System, metric: str) -> str:
    values = system.values(metric)
    if not values:
        return ""
    mean, deviation = spread(values)
    return f"{100 * mean:.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")


def _difference(metric: str, system: System, other: System) -> str:
    """A difference with its interval, bold where it is clear, and its deviation over seeds."""
    found = difference(metric, system, other)
    if found is None:
        return ""
    text = interval(found)
    if found.seeds > 1:
        seeds = sorted(set(system.seeds[metric]) & set(other.seeds[metric]))
        pairs = [[_of_seed(side, metric, seed) for seed in seeds] for side in (system, other)]
        deviation = float(np.std(np.subtract(*pairs), ddof=1))
        text = text.replace(" [", f" ± {100 * deviation:.1f} [", 1)
    return f"**{text}**" if found.is_clear else text


def _of_seed(system: System, metric: str, seed: int) -> float:
    return System("", {metric: {seed: system.seeds[metric][seed]}}).values(metric)[0]


def _seeds(systems: Mapping[str, BySystem], name: str, metrics: Sequence[str]) -> str:
    """How many seeds a row has on each part, as one number where they are equal."""
    numbers = {title: {len(s[name].seeds.get(m, {})) for m in metrics} for title, s in systems.items()}
    flat = set.union(*numbers.values())
    if len(flat) == 1:
        return str(flat.pop())
    return ", ".join(f"{title}: {'–'.join(map(str, sorted(found)))}" for title, found in numbers.items())


# Tables -----------------------------------------------------------------------------------------------


def _scores(systems: Mapping[str, BySystem], metrics: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The systems' scores on every part, with the paper's below."""
    head = ["", *(f"{title}: {names[metric]}" for title in systems for metric in metrics), "seeds"]
    rows = [
        [name, *(_value(s[name], m) for s in systems.values() for m in metrics), _seeds(systems, name, metrics)]
        for name in _shown(systems)
    ]
    if any(title in PAPER for title in systems):
        rows += [
            [f"*the paper's {name}*", *(_paper(title, name, m) for title in systems for m in metrics), "5"]
            for name in SYSTEMS
            if name != "Merged"
        ]
    return table(head, rows)


def _shown(systems: Mapping[str, BySystem]) -> list[str]:
    """The systems that have a row: the paper's, and the merged pair where it was measured."""
    return [name for name in SYSTEMS if name != "Merged" or any(found[name].seeds for found in systems.values())]


def _paper(title: str, name: str, metric: str) -> str:
    return f"*{PAPER[title][name][metric]:.1f}*" if title in PAPER else ""


def _differences(systems: Mapping[str, BySystem], metrics: Sequence[str], names: Mapping[str, str]) -> list[str]:
    pairs = [("Local", "Standalone"), ("Global", "Standalone"), ("Global", "Local")]
    if "Merged" in _shown(systems):
        pairs.insert(2, ("Global", "Merged"))
    head = ["points", *(f"{title}: {names[metric]}" for title in systems for metric in metrics)]
    rows = [
        [f"{first} {MINUS} {second}",
         *(_difference(m, s[first], s[second]) for s in systems.values() for m in metrics)]
        for first, second in pairs
    ]  # fmt: skip
    return table(head, rows)


def _ablations(stored: Sequence[Stored], queue: Sequence[Run]) -> Iterator[str]:
    """What each change of one field costs on development documents."""
    runs = [run for run in queue if run.settings["table"] == "ablations"]
    for corpus, part in dict.fromkeys((run.settings["corpus"], part) for run in runs for part in run.parts):
        base = _systems(stored, "heads", corpus, part)["Global"]
        if not base.seeds:
            continue
        rows = [["Global", *(_value(base, m) for m in NAMES), str(len(base.seeds["coref"]))]]
        for row in dict.fromkeys(run.settings["row"] for run in runs if run.settings["corpus"] == corpus):
            changed = System(row)
            for each in stored:
                settings = each.run.settings
                if (settings["table"], settings["row"], settings["corpus"]) == ("ablations", row, corpus):
                    for metric in NAMES:
                        changed.seeds.setdefault(metric, {})[each.seed] = each.parts[part]
            if changed.seeds:
                cells = [_difference(metric, changed, base) for metric in NAMES]
                rows.append([row, *cells, str(len(set(changed.seeds["coref"]) & set(base.seeds["coref"])))])
        if len(rows) > 1:
            yield from table([_title(corpus, part), *NAMES.values(), "seeds"], rows)


def _costs(stored: Sequence[Stored]) -> Iterator[str]:
    trained = [each for each in stored if each.record["cost"]]
    if not trained:
        return
    groups: dict[tuple[str, str], list[Stored]] = {}
    for each in trained:
        if each.run.settings["table"] == "heads":
            groups.setdefault((each.run.settings["corpus"], each.run.settings["row"]), []).append(each)
    rows = []
    for (corpus, row), several in groups.items():
        costs = [each.record["cost"] for each in several]
        parts = [part for each in several for part in each.record["evaluated"].values()]
        # The middle one, since a pause while one part was annotated counts as its time.
        reading = np.median([part["seconds"] / part["documents"] for part in parts])
        rows.append([
            f"{_CORPORA.get(corpus, corpus)}, `{row}`",
            *(f"{np.mean([cost[name] for cost in costs]) / 60:.0f}" for name in ("seconds", "cpu_seconds")),
            f"{max(cost['peak_megabytes'] for cost in costs) / 1000:.1f}",
            f"{costs[0]['steps']:,}",
            f"{reading:.2f}",
        ])  # fmt: skip
    annotating = "seconds to annotate a document (median of runs and parts)"
    head = ["training", "minutes", "of processor time", "GB at most", "steps", annotating]
    yield from table(head, rows)
    hours = sum(each.record["cost"]["cpu_seconds"] for each in trained) / 3600
    processors = sorted({f"{each.record['environment']['processor']}" for each in trained})
    versions = sorted({", ".join(f"{name} {each.record['environment'][name]}" for name in ("torch", "transformers"))
                       for each in trained})  # fmt: skip
    yield f"{len(trained)} trainings, {hours:.1f} hours of one thread; {'; '.join([*processors, *versions])}."
    yield ""


# Curves -----------------------------------------------------------------------------------------------


def curves(stored: Sequence[Stored], queue: Sequence[Run]) -> dict[str, str]:
    """Return the pictures by the names of their files; none where nothing is stored."""
    sizes = [str(a) if b == a + 1 else f"{a}–{b - 1}" for a, b in pairwise(SIZES)] + [f"{SIZES[-1]}+"]
    kinds = {
        "size": (
            [f"size_{least}" for least in SIZES],
            sizes,
            "mentions of a cluster",
            "EL_h F1 by the number of mentions of a cluster",
        ),
        "share": (
            [f"share_{most:g}" for most in SHARES],
            ["none", "to half", "most", "all"],
            "mentions with the entity among their candidates",
            "Share of gold linked clusters found exactly, by how many of their mentions have the entity as a candidate",
        ),
    }
    pictures = {}
    for kind, (metrics, places, axis, title) in kinds.items():
        panels = []
        by_part = {_title(c, p): _systems(stored, "heads", c, p) for c, p in _parts(queue, "heads")}
        for part, systems in by_part.items():
            lines = [Line(name, [_mean(systems[name], metric) for metric in metrics]) for name in _shown(by_part)]
            if any(value is not None for line in lines for value in line.values):
                panels.append(Panel(part, places, lines))
        if panels:
            pictures[CURVES[kind]] = chart(panels, axis, title)
    return pictures


def _mean(system: System, metric: str) -> float | None:
    """The mean over seeds; None where no gold cluster is of that kind."""
    kind, _, _ = metric.partition("_")
    name = f"{metric}_gold"
    if kind in ("size", "share") and (not system.seeds.get(metric) or not system.total(metric, name)):
        return None
    return spread(system.values(metric))[0]


# The whole --------------------------------------------------------------------------------------------


def missing_runs(missing: Sequence[str], queue: Sequence[Run]) -> str:
    """Return a sentence that names the runs that are not stored, or says that none is missing."""
    if not missing:
        return f"All {len(queue)} runs of the queue are stored."
    stems: dict[str, list[str]] = {}
    for name in missing:
        stem, _, seed = name.rpartition("-")
        stems.setdefault(stem or name, []).append(seed)
    names = "; ".join(f"`{stem}` {', '.join(seeds)}" for stem, seeds in stems.items())
    return f"{len(queue) - len(missing)} of {len(queue)} runs are stored. Missing (run, seeds): {names}."


def page(stored: Sequence[Stored], missing: Sequence[str], queue: Sequence[Run], images: str) -> str:
    """Return the report as Markdown.

    Args:
        stored: What is there.
        missing: The names of the runs that are not.
        queue: All runs.
        images: The folder of the pictures, as the page sees it.
    """
    lines = [missing_runs(missing, queue), ""]
    systems = {_title(c, p): _systems(stored, "heads", c, p) for c, p in _parts(queue, "heads")}
    systems = {title: found for title, found in systems.items() if any(system.seeds for system in found.values())}
    if systems:
        lines += [_setting(stored), "", *_heads(systems, curves(stored, queue), images)]
    if ablations := list(_ablations(stored, queue)):
        lines += ["### Ablations", "", _ABLATIONS, "", *ablations]
    plain = {_title(c, p): _systems(stored, "plain", c, p) for c, p in _parts(queue, "plain")}
    plain = {title: found for title, found in plain.items() if any(system.seeds for system in found.values())}
    if plain:
        lines += ["### The paper's inputs alone", "", _PLAIN, "", *_scores(plain, list(NAMES), NAMES)]
        lines += _differences(plain, list(NAMES), NAMES)
    if costs := list(_costs(stored)):
        lines += ["### Cost", "", *costs]
    return "\n".join(lines).rstrip() + "\n"


def _heads(systems: Mapping[str, BySystem], pictures: Mapping[str, str], images: str) -> Iterator[str]:
    main = ("el_m", "el_h", "coref")
    yield from ("### Table 2: the heads", "", _MEANS, "", *_scores(systems, main, NAMES))
    yield from (_BOOTSTRAP, "", *_differences(systems, main, NAMES))
    if found := list(claims(systems)):
        yield from ("### What holds here", "", *found)
    kinds = {"S": "one mention", "M": "several"}
    yield from ("### Table 3: linked clusters of one mention and of several", "")
    yield from ("Share of gold linked clusters found with exactly their mentions and their entity.", "")
    yield from (*_scores(systems, tuple(kinds), kinds), *_differences(systems, tuple(kinds), kinds))
    numbers = [f"{title}: {_number(found, 'hard_total')}" for title, found in systems.items()]
    yield from ("### Table 4: hard cases", "")
    yield from (f"Mentions whose own candidates lack their entity, while another of their cluster has it: "
                f"{'; '.join(numbers)}.", "")  # fmt: skip
    yield from (*_scores(systems, ("hard",), NAMES), *_differences(systems, ("hard",), NAMES))
    yield from ("### By size of cluster, by candidates", "")
    texts = (
        "EL_h F1 by the number of mentions of a cluster",
        "Gold linked clusters found exactly, by the share of their mentions with the entity among their candidates",
    )
    for name, text in zip(CURVES.values(), texts, strict=True):
        if name in pictures:
            yield from (f"![{text}]({images}/{name})", "", f"{text}.", "")
    recall = [f"{title} {_recall(found)}" for title, found in systems.items()]
    yield from (f"Linked mentions with their entity among their own candidates: {'; '.join(recall)}.", "")


def _number(systems: BySystem, name: str) -> str:
    system = next((s for s in systems.values() if "hard" in s.seeds), None)
    return "not measured" if system is None else str(system.total("hard", name))


def _recall(systems: BySystem) -> str:
    system = next((s for s in systems.values() if "candidates" in s.seeds), None)
    return "not measured" if system is None else f"{100 * system.values('candidates')[0]:.1f} %"


def _setting(stored: Sequence[Stored]) -> str:
    """What all runs have in common, and a warning where they have not."""
    bases = {str(each.record["knowledge_base"]["content_fingerprint"])[:8] for each in stored}
    encoders = sorted({each.run.settings["encoder"] for each in stored})
    text = f"Encoder {', '.join(encoders)}; knowledge base {', '.join(sorted(bases))}"
    if len(bases) > 1:
        text += " (**not the same in all runs: their differences are not those of the models alone**)"
    parts = {
        (each.run.settings["corpus"], name): part["gold_share_of_spans_with_candidates"]
        for each in stored
        for name, part in each.record["evaluated"].items()
    }
    shares = "; ".join(f"{_title(*key)} {100 * share:.0f} %" for key, share in parts.items())
    return f"{text}. Of the spans that have candidates, gold mentions are: {shares}."


_MEANS = "F1: the mean over seeds ± their standard deviation (of a sample); the last column gives the number of seeds."
_BOOTSTRAP = (
    "Differences in points: the mean over the seeds that both have (so it is not always the difference of the scores "
    "above), ± its deviation over seeds, and the 95 % interval of a paired bootstrap, which draws documents and, where "
    "there are several, seeds. Bold: several seeds, and 0 lies outside. The interval of one seed says how far other "
    "documents would move the difference, not how far another seed would, which can be as much."
)
_ABLATIONS = (
    "On development documents, with one field changed, or decoded otherwise: the first row has scores, the others the "
    "difference from it on the seeds that both have (intervals and bold as above)."
)
_PLAIN = (
    "The same heads without what this package adds to the paper's inputs: no priors, products or context of entities, "
    "no support, no shared words, candidates or entities of pairs, no letter case."
)
