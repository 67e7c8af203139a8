from __future__ import annotations

from script_loading import load_script


def test_no_folder_of_the_training_machine_is_told() -> None:
    script = load_script("experiments/bundle_checkpoint.py")
    first = {"command": ["python", "examples/03_fine_tune.py", "--encoder", "/home/me/encoder"], "seed": 1}
    second = {"command": ["python", "examples/03_fine_tune.py", "--model", "runs/first/final"], "started_from": first}
    record = {"command": ["python", "--config", '{"a": "b/c"}', "--data_dir", "/data/dwie/"], "started_from": second}
    found = script.without_folders(record)
    assert found["command"] == ["python", "--config", '{"a": "b/c"}', "--data_dir", "dwie"]
    assert found["started_from"]["command"][-1] == "final"
    assert found["started_from"]["started_from"] == {**first, "command": [*first["command"][:-1], "encoder"]}
    assert script.without_folders({"seed": 1, "started_from": None}) == {"seed": 1, "started_from": None}
