"""The folder of an exported model: what is in it, and what of it is refused."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import load_pipeline
from hf_corefel.bulk import annotate_many
from hf_corefel.cli.app import app
from hf_corefel.onnx_graphs import export_onnx
from hf_corefel.onnx_graphs.exporting import quantize
from hf_corefel.onnx_graphs.parts import PARTS

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."


def flip(path: Path) -> None:
    """Change a byte in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(bytes(data))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "is missing": lambda path: path.unlink(),
    "bytes, and graphs.json says": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "it is not what was exported": flip,
}


def test_the_folder_is_whole_and_holds_no_pickle(exported: Path) -> None:
    names = {path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()}
    assert {f"onnx/{part}.onnx" for part in PARTS} < names
    assert {"config.json", "processor_config.json", "tokenizer.json", "fingerprint.json", "onnx/graphs.json"} < names
    assert not [name for name in names if name.endswith((".safetensors", ".bin", ".pt", ".pkl")) and "/" not in name]
    assert not exported.with_name("model.part").exists()


@pytest.mark.parametrize("part", ["encoder", "edges"])
@pytest.mark.parametrize("message", list(DAMAGE))
def test_damage_is_named(copied: Path, part: str, message: str) -> None:
    DAMAGE[message](copied / "onnx" / f"{part}.onnx")
    with pytest.raises((OSError, ValueError), match=rf"{part}\.onnx: .*{message}"):
        load_pipeline(copied, backend="onnx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 9}, "format_version is 9"),
        ({"precision": "int3"}, "it is damaged"),
        ({"files": {"../../etc/passwd": {}}}, "only files beside it are read"),
        ({"files": {}}, "does not list edges.onnx"),
    ],
)
def test_a_list_that_is_wrong_is_refused(copied: Path, change: dict[str, Any], message: str) -> None:
    path = copied / "onnx" / "graphs.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=message):
        load_pipeline(copied, backend="onnx")


def test_a_graph_of_nonsense_is_refused(copied: Path) -> None:
    """Also where the list has its checksum."""
    import hashlib

    graph, listed = copied / "onnx" / "edges.onnx", copied / "onnx" / "graphs.json"
    graph.write_bytes(b"no graph")
    content = json.loads(listed.read_text())
    content["files"]["edges.onnx"] = {"bytes": 8, "sha256": hashlib.sha256(b"no graph").hexdigest()}
    listed.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"edges\.onnx: onnxruntime cannot read it"):
        load_pipeline(copied, backend="onnx")


@pytest.mark.parametrize(("field", "value"), [("head", "local"), ("pair_ffnn_size", 13), ("use_pair_matches", True)])
def test_a_configuration_of_another_model_is_refused(copied: Path, field: str, value: Any) -> None:
    path = copied / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(
        ValueError, match=rf"{field} is .* in its configuration, and its ONNX graphs were exported with"
    ):
        load_pipeline(copied, backend="onnx")


def test_each_backend_says_what_the_other_needs(exported: Path, tiny_folder: Path) -> None:
    with pytest.raises(OSError, match="ONNX graphs only; load it with backend='onnx'"):
        load_pipeline(exported)
    with pytest.raises(OSError, match=r"it has no ONNX graphs .*hf-corefel export onnx"):
        load_pipeline(tiny_folder, backend="onnx")


def test_nothing_else_is_overwritten(tiny_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    annotate = load_pipeline(tiny_folder)
    before = sorted(tiny_folder.rglob("*"))
    with pytest.raises(ValueError, match="holds something else than an exported model"):
        export_onnx(annotate.model, annotate.processor, tiny_folder)
    assert sorted(tiny_folder.rglob("*")) == before
    with pytest.raises(ValueError, match="dtype: expected float32 or int8, got 'int4'"):
        export_onnx(annotate.model, annotate.processor, tmp_path / "out", dtype="int4")
    with pytest.raises(ValueError, match="the model is quantised"):
        export_onnx(load_pipeline(tiny_folder, dtype="int8").model, annotate.processor, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def own_files(copied: Path) -> dict[str, bytes]:
    """What a user keeps beside an export, which they publish with git."""
    (copied / ".git").mkdir()
    files = {".git/HEAD": b"ref: refs/heads/main", "notes.txt": b"mine"}
    for name, data in files.items():
        (copied / name).write_bytes(data)
    return files


@pytest.fixture
def written_at_once(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export is a copy of the one that was made for all tests, which takes half a minute."""

    def write(model: Any, processor: Any, folder: Path, dtype: str) -> None:
        shutil.copytree(exported, folder, dirs_exist_ok=True)

    monkeypatch.setattr("hf_corefel.onnx_graphs.exporting._write", write)


@pytest.mark.usefixtures("written_at_once")
def test_an_earlier_export_is_replaced_and_nothing_else(
    copied: Path, own_files: dict[str, bytes], torch_and_onnx: tuple[Any, Any]
) -> None:
    (copied / "onnx" / "old.onnx").write_bytes(b"a graph that is no longer made")
    (copied / "config.json").write_text("{}")
    ours, graphs = torch_and_onnx
    before = {*content(copied)} - {"onnx/old.onnx"}
    export_onnx(ours.model, ours.processor, copied)
    assert {*content(copied)} == before and own_files.items() <= content(copied).items()
    assert not [path for path in copied.iterdir() if path.name in (".saving", ".replaced")]
    assert load_pipeline(copied, backend="onnx")(TEXT) == graphs(TEXT)


@pytest.mark.usefixtures("written_at_once")
@pytest.mark.parametrize("name", ["onnx", "knowledge_base", "config.json"])
def test_an_export_that_cannot_be_moved_leaves_the_earlier_one(
    copied: Path,
    own_files: dict[str, bytes],
    torch_and_onnx: tuple[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    before, replace, ours = content(copied), os.replace, torch_and_onnx[0]

    def refuse(source: Any, place: Any) -> None:
        if Path(place) in (copied, copied / name) and Path(source).parent.name != ".replaced":
            raise PermissionError(13, "it is open elsewhere", str(place))
        replace(source, place)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="open elsewhere"):
        export_onnx(ours.model, ours.processor, copied)
    assert content(copied) == before


@pytest.mark.usefixtures("written_at_once")
def test_an_export_goes_on_where_a_kill_has_ended_the_first_one(
    exported: Path, tmp_path: Path, torch_and_onnx: tuple[Any, Any]
) -> None:
    folder, ours = tmp_path / "out", torch_and_onnx[0]
    (folder / ".saving" / "onnx").mkdir(parents=True)
    (folder / "..saving.lock").write_text("")
    export_onnx(ours.model, ours.processor, folder)
    assert content(folder) == content(exported)


@pytest.mark.parametrize("package", ["onnxruntime", "onnxscript"])
def test_a_missing_package_is_named(
    exported: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    annotate = load_pipeline(tiny_folder)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'hf-corefel\[onnx\]'"):
        export_onnx(annotate.model, annotate.processor, tmp_path / "out")
    if package == "onnxruntime":
        with pytest.raises(ImportError, match=r"pip install 'hf-corefel\[onnx\]'"):
            load_pipeline(exported, backend="onnx")


def test_int8_is_smaller_and_near(copied: Path, torch_and_onnx: tuple[Any, Any]) -> None:
    from hf_corefel.onnx_graphs.sessions import GraphSession

    ours, _ = torch_and_onnx
    path, batch = copied / "onnx" / "encoder.onnx", ours.processor([TEXT])
    given = {name: batch[name].flatten(0, 1) for name in ("input_ids", "attention_mask")}
    exact = GraphSession(path)(given)["hidden"]
    quantize(path)
    import onnx

    operators = {node.op_type for node in onnx.load(path).graph.node}
    assert "MatMulInteger" in operators and [file.suffix for file in path.parent.glob("encoder*")] == [".onnx"]
    rest = (GraphSession(path)(given)["hidden"] - exact)[given["attention_mask"].bool()]
    assert 0 < rest.norm() < 0.05 * exact.norm()


def test_the_command_line_and_jobs_take_it(
    exported: Path, tiny_folder: Path, tmp_path: Path, torch_and_onnx: tuple[Any, Any]
) -> None:
    from typer.testing import CliRunner

    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    runner = CliRunner()
    entities = [cluster["entity"] for cluster in torch_and_onnx[0](TEXT)["clusters"]]
    for options in (["--backend", "onnx"], ["--dtype", "int8"], ["--dtype", "bfloat16"]):
        model = exported if "onnx" in options else tiny_folder
        result = runner.invoke(app, ["annotate", "--json", "-q", "--model", str(model), *options, str(text)])
        assert result.exit_code == 0, result.output
        assert [cluster["entity"] for cluster in json.loads(result.stdout)["clusters"]] == entities
    wrong = runner.invoke(app, ["annotate", "--model", str(tiny_folder), "--backend", "onnx", str(text)])
    assert wrong.exit_code == 1 and "it has no ONNX graphs" in wrong.stderr
    wrong = runner.invoke(app, ["export", "onnx", str(tiny_folder), str(tiny_folder)])
    assert wrong.exit_code == 1 and "holds something else" in wrong.stderr
    loading = {"backend": "onnx"}
    report = annotate_many([{"text": TEXT}], tmp_path / "shards", model=exported, workers=0, loading=loading)
    assert (report.documents, report.failed) == (1, 0)


def test_threads_share_it(torch_and_onnx: tuple[Any, Any]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    _, graphs = torch_and_onnx
    expected = graphs(TEXT)
    with ThreadPoolExecutor(4) as pool:
        assert all(result == expected for result in pool.map(graphs, [TEXT] * 8))
