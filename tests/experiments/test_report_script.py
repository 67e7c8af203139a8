"""The report: from counts to scores and intervals, from these to a page, and what it says of what is not there."""

from __future__ import annotations

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from little_runs import BASE
from script_loading import load_script

REPORT = load_script("experiments/report.py")
CURVES, CLAIMS, SCORES, TABLES, STORED = (
    sys.modules[name] for name in ("curves", "report_claims", "report_scores", "report_tables", "stored_results")
)
TEXT = "Oslo Oslo Berg"
# All four ways to draw two of two things, each as often as it is probable: how often each of the two is drawn.
WAYS = np.array([[2, 0], [1, 1], [1, 1], [0, 2]], dtype=float)
OSLO, BERG = Cluster((Mention(0, 4), Mention(5, 9)), "Oslo"), Cluster((Mention(10, 14),), "Berg")


def counts_of(found: Sequence[Sequence[Cluster]]) -> Any:
    """Counts of documents whose gold is Oslo twice and Berg once; of the second Oslo its candidates lack the entity."""
    rows, names = [], [f"document {i}" for i in range(len(found))]
    candidates = {(0, 4): {"Oslo"}, (5, 9): set[str](), (10, 14): {"Berg"}}
    for name, clusters in zip(names, found, strict=True):
        gold = Document(TEXT, name, clusters=[OSLO, BERG])
        rows.append(STORED.document_counts(gold, AnnotatedDocument(TEXT, list(clusters), name), candidates))
    return names, rows


def part(found: Sequence[Sequence[Cluster]]) -> Any:
    names, rows = counts_of(found)
    return STORED.PartCounts(names, list(rows[0]), np.array([list(row.values()) for row in rows]))


def system(metric: str, **seeds: Sequence[Sequence[Cluster]]) -> Any:
    return SCORES.System("", {metric: {int(seed[1:]): part(found) for seed, found in seeds.items()}})


# Bootstrap --------------------------------------------------------------------------------------------


def test_the_paired_bootstrap_is_exact_on_two_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCORES, "draws", lambda number, stream=0: WAYS if number == 2 else np.ones((4, 1)))
    better = system("el_m", s1=[[OSLO, BERG], [OSLO]])
    worse = system("el_m", s1=[[OSLO, BERG], [BERG]])
    found = SCORES.difference("el_m", better, worse)

    def f1(right: int, predicted: int) -> Fraction:
        return Fraction(2 * right, predicted + 6)

    # Both documents: 5 of 5 against 4 of 4 right, of 6. The second twice: 4 of 4 against 2 of 2.
    one_each = f1(5, 5) - f1(4, 4)
    second_twice = f1(4, 4) - f1(2, 2)
    differences = [0.0, float(one_each), float(one_each), float(second_twice)]
    assert found.value == pytest.approx(float(one_each))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    assert found.seeds == 1 and found.sign == 1


def test_seeds_are_drawn_with_documents_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every way to draw two of two documents with every way to draw two of two seeds.
    by_stream = {0: np.repeat(WAYS, 4, axis=0), 1: np.tile(WAYS, (4, 1))}
    monkeypatch.setattr(SCORES, "draws", lambda number, stream=0: by_stream[stream])
    right, half = [[OSLO, BERG], [OSLO, BERG]], [[OSLO, BERG], []]
    found = SCORES.difference("el_m", system("el_m", s1=right, s2=half), system("el_m", s1=half, s2=half))
    # The second seed shows nothing; the first what the second document, drawn never, once or twice, adds. Shares of
    # two seeds are spread by the root of two about their mean.
    by_documents = [0.0, 1 - 2 / 3, 1 - 2 / 3, 1.0]
    differences = [share * gain for gain in by_documents for share in (0.5 + 0.5**0.5, 0.5, 0.5, 0.5 - 0.5**0.5)]
    assert found.value == pytest.approx(0.5 * (1 - 2 / 3))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    assert found.seeds == 2 and not found.is_clear and not found.is_none


def test_one_seed_makes_nothing_clear_and_equal_scores_are_no_difference() -> None:
    better, worse, several = [[OSLO, BERG]] * 3, [[BERG]] * 3, ("s1", "s2")
    one = SCORES.difference("el_m", system("el_m", s1=better), system("el_m", s1=worse))
    assert one.sign == 1 and not one.is_clear
    two = [system("el_m", **dict.fromkeys(several, found)) for found in (better, worse)]
    assert SCORES.difference("el_m", *two).is_clear and SCORES.difference("el_m", *reversed(two)).is_clear
    assert SCORES.difference("el_m", two[0], two[0]).is_none and not SCORES.difference("el_m", *two).is_none


def test_a_bound_beside_nothing_shows_its_side() -> None:
    difference = SCORES.Difference(0.013, 0.0003, 0.026, 2)
    assert CLAIMS.interval(difference) == "+1.3 [+0.03, +2.6]"
    difference = SCORES.Difference(0.0, -0.0004, 0.0, 2)
    assert CLAIMS.interval(difference) == f"0.0 [{CLAIMS.MINUS}0.04, 0.0]"


def test_the_same_documents_are_drawn_for_both_sides_and_all_seeds() -> None:
    equal = system("coref", s1=[[OSLO], [], [OSLO, BERG]], s2=[[], [BERG], [OSLO]])
    found = SCORES.difference("coref", equal, equal)
    assert (found.value, found.low, found.high, found.sign, found.seeds) == (0.0, 0.0, 0.0, 0, 2)
    weights = SCORES.draws(7)
    assert weights.shape == (10_000, 7) and (weights.sum(axis=1) == 7).all()
    assert weights[0].tolist() == [1, 1, 0, 3, 1, 1, 0]  # the same in every release of numpy


def test_only_seeds_of_both_sides_are_compared_and_only_on_the_same_documents() -> None:
    first = system("el_h", s1=[[OSLO], [BERG]], s2=[[], []])
    assert SCORES.difference("el_h", first, system("el_h", s3=[[OSLO], [BERG]])) is None
    assert SCORES.difference("el_h", first, system("el_h", s1=[[OSLO], [BERG]], s3=[[], []])).value == 0.0
    with pytest.raises(ValueError, match="different documents"):
        SCORES.difference("el_h", first, system("el_h", s1=[[OSLO]]))


def test_a_gain_is_compared_with_another_gain() -> None:
    both, one = ([[OSLO, BERG]], [[BERG]])
    joint = SCORES.System("", {name: {1: part(both)} for name in ("S", "M")})
    apart = SCORES.System("", {name: {1: part(one)} for name in ("S", "M")})
    assert SCORES.gain_over("M", "S", joint, apart).value == 1.0
    assert SCORES.gain_over("S", "M", joint, apart).value == -1.0


def test_spread_of_one_seed_is_not_known() -> None:
    assert SCORES.spread([0.5]) == (0.5, None)
    assert SCORES.spread([0.4, 0.6]) == (0.5, pytest.approx(0.1414213562))


# The page ---------------------------------------------------------------------------------------------

MERGED = {"merged": [[BERG]] * 3 + [[OSLO]]}
HEADS = ("standalone_coref", "standalone_linking", "local", "global")
EMPTY: list[Cluster] = []
FOUND = {
    "standalone_coref": [[Cluster(OSLO.mentions), Cluster(BERG.mentions)]] * 3 + [[Cluster(OSLO.mentions)]],
    "standalone_linking": [[BERG]] * 3 + [EMPTY],
    "local": [[OSLO, BERG]] * 3 + [EMPTY],
    "global": [[OSLO, BERG]] * 4,
}


@pytest.fixture
def folders(tmp_path: Path, write_runs: Callable[..., Path]) -> Callable[..., list[str]]:
    """Stores results of the given heads and seeds, and gives the arguments of the report."""

    def store(*done: tuple[str, int]) -> list[str]:
        files: dict[str, dict[str, Any]] = {}
        for seed in (3, 4):
            for head in HEADS:
                changes = {"config.head": head, "seed": seed}
                files[f"tiny-{head}-{seed}"] = {"base": "tiny-global-3", "row": head, "change": changes}
        files["tiny-global-3"] = BASE
        pair = ["tiny-standalone_coref-3", "tiny-standalone_linking-3"]
        changes = {"config.head": "standalone_linking"}
        files["tiny-merged-3"] = {"base": "tiny-global-3", "row": "merged", "merges": pair, "change": changes}
        files["tiny-arsinh-3"] = {"base": "tiny-global-3", "table": "ablations", "row": "arsinh weights",
                                  "change": {"config.use_candidate_prior": False}, "parts": ["dev"]}  # fmt: skip
        runs = write_runs(files)
        queue = {run.name: run for run in REPORT.read_queue(runs)}
        results = tmp_path / "results"
        for head, seed in done:
            run = queue[f"tiny-{head}-{seed}"]
            folder = results / run.name
            folder.mkdir(parents=True, exist_ok=True)
            for name in run.parts:
                names, rows = counts_of((FOUND | MERGED).get(head, FOUND["local"]))
                STORED.write_counts(folder / f"{name}.counts.json.gz", names, rows)
            share = {"documents": 4, "seconds": 2.0, "gold_share_of_spans_with_candidates": 0.25}
            record = {
                "run": run.to_dict(),
                "knowledge_base": {"content_fingerprint": "0123456789", "entities": 8},
                "cost": {"seconds": 120, "cpu_seconds": 90, "peak_megabytes": 1500, "steps": 36},
                "evaluated": dict.fromkeys(run.parts, share),
                "environment": {"processor": "abacus", "torch": "2", "transformers": "5"},
            }
            STORED.write_record(folder, record)
        page = tmp_path / "docs" / "results.md"
        page.parent.mkdir(exist_ok=True)
        if not page.is_file():
            page.write_text(f"before\n\n{REPORT.BEGIN}\n{REPORT.END}\n\nafter\n", encoding="utf-8")
        return ["--runs", str(runs), "--results", str(results), "--page", str(page)]

    return store


def written(arguments: list[str]) -> str:
    assert REPORT.main(arguments) == 0
    return Path(arguments[-1]).read_text(encoding="utf-8")


def rows(page: str, begin: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in page.splitlines()
        if line.startswith(f"| {begin} |")
    ]


def test_nothing_is_invented_where_nothing_is_stored(folders: Callable[..., list[str]]) -> None:
    page = written(folders())
    assert page == (
        f"before\n\n{REPORT.BEGIN}\n0 of 10 runs are stored. Missing (run, seeds): `tiny-standalone_coref` 3, 4; "
        f"`tiny-standalone_linking` 3, 4; `tiny-local` 3, 4; `tiny-global` 3, 4; `tiny-merged` 3; `tiny-arsinh` 3.\n"
        f"{REPORT.END}\n\nafter\n"
    )


def test_a_prefix_of_the_queue_is_a_table_that_says_what_it_lacks(folders: Callable[..., list[str]]) -> None:
    page = written(folders(("standalone_coref", 3), ("local", 3)))
    assert "2 of 10 runs are stored" in page and "`tiny-global` 3, 4" in page
    # Coreference of the one half of the pair, links of neither.
    standalone, local, glob = (rows(page, name)[0] for name in ("Standalone", "Local", "Global"))
    assert standalone[1:3] == ["", ""] and float(standalone[3]) > 85 and standalone[4] == "tiny test: 0–1"
    assert local[1:3] == ["85.7", "85.7"] and local[4] == "1" and glob[1:] == ["", "", "", "0"]
    # No two of the systems were measured on links, so no claim is judged.
    assert "What holds here" not in page
    page = written(folders(("global", 3)))
    (claim,) = rows(page, "Global links more mentions right than Standalone (EL_m)")
    assert claim[1] == "not measured"
    (claim,) = rows(page, "Global gets more linked clusters right than Local (EL_h)")
    # One seed is measured, and no verdict.
    assert claim[1].startswith("**one seed**: +14.3 [0.0, ") and "comparisons of the paper" not in page
    assert rows(page, f"Global {CLAIMS.MINUS} Local")[0][1].startswith("+14.3 [")
    page = written(folders(("local", 4), ("global", 4)))
    (claim,) = rows(page, "Global gets more linked clusters right than Local (EL_h)")
    assert claim[1].startswith("**open**: +14.3 [0.0, ")


def test_the_tables_are_those_of_the_counts(folders: Callable[..., list[str]]) -> None:
    done = [(head, seed) for head in HEADS for seed in (3, 4)]
    page = written(folders(*done, ("arsinh", 3)))
    # Local: 9 of 12 mentions, all right. Global: all. Standalone: 3 of 12.
    whole, paper = page, CLAIMS.PAPER
    page = page.replace(" ± 0.0", "")  # both seeds found the same
    assert rows(page, "Global")[0][1:3] == ["100.0", "100.0"] and rows(page, "Local")[0][1:3] == ["85.7", "85.7"]
    assert rows(page, "Standalone")[0][1:3] == ["40.0", "54.5"] and rows(whole, "Global")[0][1] == "100.0 ± 0.0"
    assert not any(str(paper["DWIE test"][name]["el_h"]) in page for name in paper["DWIE test"])
    # Of one mention 3 of 4, of several none; hard cases: none, three and all of the four second Oslos.
    assert rows(page, "Standalone")[1][1:3] == ["75.0", "0.0"]
    assert [rows(page, name)[2][1] for name in ("Standalone", "Local", "Global")] == ["0.0", "75.0", "100.0"]
    assert "another of their cluster has it: tiny test: 4." in page
    (change,) = rows(page, "arsinh weights")
    assert change[2].startswith("\N{MINUS SIGN}14.3 [") and change[-1] == "1"
    (claim,) = rows(page, "Local links hard cases, which Standalone cannot")
    assert claim[1].startswith("**holds**: +75.0 [")
    (claim,) = rows(page, "Global is better at coreference than Standalone")
    assert claim[1].startswith("**open**: ")  # 0 lies in the interval
    assert "comparisons of the paper measured here on several seeds, 6 hold " in page
    sentence = next(line for line in page.splitlines() if line.startswith("The opposite of the claim was found"))
    # By mention it gains 60 points, by cluster 45.5.
    assert sentence.endswith(": Global's gain over Standalone is larger by cluster than by mention (tiny test).")
    assert "9 trainings, 0.2 hours of one thread; abacus; torch 2, transformers 5." in page
    assert "![EL_h F1 by the number of mentions of a cluster](images/el_h_by_cluster_size.svg)" in page


def test_the_merged_pair_is_shown_where_it_was_measured(folders: Callable[..., list[str]]) -> None:
    page = written(folders(*[(head, 3) for head in HEADS]))
    assert rows(page, "Merged") == [] and ">Merged<" not in REPORT.files(*paths(folders()))[curve(folders())]
    page = written(folders(*[(head, 3) for head in HEADS], ("merged", 3)))
    # 5 of 5 mentions of 12, 4 of 4 clusters of 8.
    assert rows(page, "Merged")[0][1:3] == ["58.8", "66.7"]
    assert rows(page, f"Global {CLAIMS.MINUS} Merged")[0][1].startswith("+41.2 [")
    (claim,) = rows(
        page, "Not compared in the paper: Global gets more linked clusters right than the merged pair (EL_h)"
    )
    assert claim[1].startswith("**one seed**: +33.3 [") and "paper" not in claim[1]
    assert ">Merged<" in REPORT.files(*paths(folders()))[curve(folders())]


def paths(arguments: list[str]) -> list[Path]:
    return [Path(argument) for argument in arguments[1::2]]


def curve(arguments: list[str]) -> Path:
    return Path(arguments[-1]).parent / "images" / "el_h_by_cluster_size.svg"


def test_seeds_have_a_mean_and_a_deviation(folders: Callable[..., list[str]]) -> None:
    page = written(folders(("local", 3), ("local", 4), ("global", 4)))
    assert rows(page, "Local")[0][1] == "85.7 ± 0.0" and rows(page, "Global")[0][1] == "100.0"
    assert rows(page, "Local")[0][-1] == "2" and rows(page, "Global")[0][-1] == "1"
    assert rows(page, f"Global {CLAIMS.MINUS} Local")[0][1].startswith("+14.3 [")


def test_check_fails_where_page_curve_or_setting_is_another(
    folders: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = folders(("global", 3))
    assert REPORT.main([*arguments, "--check"]) == 1
    assert "images" in capsys.readouterr().out and not (tmp_path / "docs" / "images").exists()
    written(arguments)
    assert REPORT.main([*arguments, "--check"]) == 0
    page = Path(arguments[-1])
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace("100.0", "99.9", 1), encoding="utf-8")
    assert REPORT.main([*arguments, "--check"]) == 1
    page.write_text(whole, encoding="utf-8")
    picture = page.parent / "images" / "el_h_by_candidates.svg"
    picture.unlink()
    assert REPORT.main([*arguments, "--check"]) == 1
    written(arguments)
    folders(("local", 3))
    assert REPORT.main([*arguments, "--check"]) == 1
    record = tmp_path / "results" / "tiny-local-3" / "run.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    content["run"]["config"]["max_candidates"] = 4
    record.write_text(json.dumps(content), encoding="utf-8")
    message = "tiny-local-3: it was run with other settings than its file has now; remove it and tiny-local-3 in the f"
    with pytest.raises(SystemExit, match=message):
        REPORT.main([*arguments, "--check"])
    record.parent.rename(record.parent.with_name("tiny-lost-3"))
    with pytest.raises(SystemExit, match="tiny-lost-3: there is no such run"):
        REPORT.main(arguments)


def test_what_a_stop_or_a_full_disk_left_is_no_result(folders: Callable[..., list[str]], tmp_path: Path) -> None:
    arguments = folders(("global", 3))
    written(arguments)
    results = tmp_path / "results"
    stored = results / "tiny-global-3"
    shutil.copytree(stored, results / ".tiny-global-3.part")
    assert REPORT.main([*arguments, "--check"]) == 0
    counts = next(stored.glob("*.counts.json.gz"))
    for path in (stored / "run.json", counts):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(
            SystemExit, match=rf"tiny-global-3/{path.name}: damaged.*remove the folder and run it again"
        ):
            REPORT.main([*arguments, "--check"])
        path.write_bytes(whole)
    with pytest.raises(SystemExit, match=r"gone\.md"):
        REPORT.main([*arguments, "--page", str(tmp_path / "gone.md")])
    counts.unlink()
    with pytest.raises(SystemExit, match=f"{counts.name}: missing"):
        REPORT.main([*arguments, "--check"])


def test_other_knowledge_bases_are_named(folders: Callable[..., list[str]], tmp_path: Path) -> None:
    arguments = folders(("global", 3), ("local", 3))
    record = tmp_path / "results" / "tiny-local-3" / "run.json"
    record.write_text(record.read_text(encoding="utf-8").replace("0123456789", "abcdefghij"), encoding="utf-8")
    assert "knowledge base 01234567, abcdefgh (**not the same in all runs" in written(arguments)


def test_a_page_without_marks_is_left_alone(folders: Callable[..., list[str]], tmp_path: Path) -> None:
    arguments = folders()
    Path(arguments[-1]).write_text("nothing\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="expected the marks"):
        REPORT.main(arguments)


def test_curves_read_on_any_background() -> None:
    lines = [CURVES.Line("Local & co", [0.0, None]), CURVES.Line("Global", [0.5, 1.0])]
    svg = CURVES.chart([CURVES.Panel("a < b", ["1", "2"], lines)], "mentions", "title")
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    points = [line.attrib["points"].split() for line in root.iter(f"{space}polyline")]
    assert [len(p) for p in points] == [1, 2]
    # Half way up and at the top of the panel.
    assert [float(p.split(",")[1]) for p in points[1]] == [123.0, 28.0]
    colours = {e.attrib[k] for e in root.iter() for k in ("fill", "stroke") if e.attrib.get(k, "none") != "none"}
    for colour in colours:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        luminance = float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
        # The contrast that WCAG asks of graphics, against white and against black.
        assert min(1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05) > 3, colour


def test_a_legend_that_is_wider_than_the_panel_is_whole() -> None:
    lines = [CURVES.Line(name, [0.5]) for name in ("Standalone", "Merged", "Local", "Global")]
    root = ET.fromstring(CURVES.chart([CURVES.Panel("DWIE test", ["1"], lines)], "mentions", "title"))
    (last,) = (text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.text == "Global")
    # A letter of this size takes 7 units at most.
    assert float(last.attrib["x"]) + 7 * len("Global") <= float(root.attrib["width"])


def test_the_page_of_this_repository_is_that_of_its_stored_results() -> None:
    assert REPORT.main(["--check"]) == 0
    sizes = sum(path.stat().st_size for path in STORED.RESULTS.rglob("*") if path.is_file())
    assert sizes < 4_000_000
