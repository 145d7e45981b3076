"""``milpscore crf``: round trips, exit codes, one-line errors, Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import milpscore
from milpscore.cli.app import app
from milpscore_sequence import SparseCRF, read_sequences, write_sequences

KINDS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "runs": "V", "New York": "N"}


def run(*arguments: object) -> Any:
    """Run ``milpscore crf`` in this process."""
    return CliRunner().invoke(app, ["crf", *map(str, arguments)])


def error(*arguments: object) -> str:
    """The one line a command with bad input ends in."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0]


def corpus(n: int, seed: int, words: list[str]) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    X = [[(w, w[-1]) for w in rng.choice(words, rng.integers(1, 6))] for _ in range(n)]
    return X, [[f"B-{KINDS[word]}" for word, _ in sequence] for sequence in X]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of sequences, patterns and a model."""
    made = tmp_path_factory.mktemp("crf")
    words = sorted(set(KINDS) - {"New York"})
    for name, seed in (("train", 0), ("dev", 1)):
        write_sequences(made / f"{name}.txt", *corpus(30, seed, words))
    write_sequences(made / "plain.txt", corpus(30, 1, words)[0], separator=" ")
    (made / "patterns.txt").write_text("u:w=%X[0,0]\nb # plain\n", encoding="utf-8")
    done = run("train", made / "train.txt", "--model", made / "m.npz", "--quiet")
    assert done.exit_code == 0, done.output
    return made


def test_training_says_what_came_of_it(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    done = run(
        "train", folder / "train.txt", "--model", model, "--patterns", folder / "patterns.txt",
        "--dev", folder / "dev.txt", "--solver", "owlqn", "--rho1", 0, "--rho2", 0.5,
        "--max-iterations", 20, "--patience", 15, "--seed", 3, "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert about["solver"] == "owlqn"
    assert about["n_labels"] == 3
    assert 0 <= about["token_error"] <= about["sequence_error"] <= 1
    assert "dev_token_error" in about
    progress = [line for line in done.stderr.splitlines() if line.startswith("iteration")]
    assert len(progress) == about["iterations"] + 1
    loaded = SparseCRF.load(model)
    assert (loaded.rho2, loaded.random_state) == (0.5, 3)
    assert loaded.patterns == ["u:w=%X[0,0]", "b"]
    assert loaded.objective_ == about["objective"]


def test_a_person_reads_a_summary(folder: Path, tmp_path: Path) -> None:
    done = run("train", folder / "train.txt", "--model", tmp_path / "m", "--quiet")
    assert done.exit_code == 0
    assert "owlqn: converged after" in done.stdout
    assert "features active, 3 labels" in done.stdout
    assert "token error 0.00%" in done.stdout
    assert done.stderr.splitlines() == [f"The model was saved in {tmp_path / 'm'}."]


def test_training_goes_on_from_a_model(folder: Path, tmp_path: Path) -> None:
    done = run(
        "train", folder / "train.txt", "--model", tmp_path / "m", "--warm-start", folder / "m.npz",
        "--max-iterations", 0, "--dev", folder / "dev.txt", "--errors-every", 1, "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    about = json.loads(done.stdout)
    assert about["objective"] == pytest.approx(SparseCRF.load(folder / "m.npz").objective_)
    assert "dev" in done.stderr
    assert about["dev_token_error"] == 0.0
    assert "is not a CRF model" in error(
        "train", folder / "train.txt", "--model", tmp_path / "m", "--warm-start",
        folder / "train.txt",
    )  # fmt: skip


def test_tagging_keeps_the_columns_and_adds_the_label(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tagged.txt"
    assert run("tag", folder / "m.npz", folder / "plain.txt", "--out", out).exit_code == 0
    X, y = read_sequences(out)
    assert read_sequences(folder / "plain.txt", labelled=False)[0] == X
    model = SparseCRF.load(folder / "m.npz")
    assert y == model.predict(X)
    # a label that is there already is kept, and not looked at
    done = run("tag", folder / "m.npz", folder / "dev.txt", "--posterior")
    first = done.stdout.splitlines()[0].split("\t")
    assert len(first) == 5
    marginals = model.predict_marginals(X)[0][0]
    assert float(first[4]) == pytest.approx(marginals[first[3]], abs=1e-6)


def test_the_best_labellings(folder: Path) -> None:
    done = run("tag", folder / "m.npz", folder / "plain.txt", "--n-best", 2)
    lines = done.stdout.splitlines()
    heads = [line.split(" ") for line in lines if line.startswith("# ")]
    assert [head[1] for head in heads] == ["1", "2"] * 30
    pairs = np.array([float(head[2]) for head in heads]).reshape(-1, 2)
    assert (pairs[:, 0] >= pairs[:, 1]).all()
    assert (pairs.sum(axis=1) <= 1 + 1e-5).all()


def test_evaluation(folder: Path) -> None:
    found = json.loads(run("eval", folder / "m.npz", folder / "dev.txt", "--json").stdout)
    assert found["token_accuracy"] == found["sequence_accuracy"] == 1.0
    assert found["n_sequences"] == 30
    assert {row["name"] for row in found["labels"]} == {"B-D", "B-N", "B-V"}
    assert {row["name"] for row in found["spans"]} == {"D", "N", "V", "all"}
    text = run("eval", folder / "m.npz", folder / "dev.txt").stdout
    assert "token accuracy: 100.00%" in text
    assert "B-N" in text


def test_dump(folder: Path, tmp_path: Path) -> None:
    model = SparseCRF.load(folder / "m.npz")
    everything = run("dump", folder / "m.npz").stdout.splitlines()
    assert everything == list(model.dump())
    assert run("dump", folder / "m.npz", "--top", 2).stdout.splitlines() == everything[:2]
    run("dump", folder / "m.npz", "--out", tmp_path / "dump.txt")
    assert (tmp_path / "dump.txt").read_text(encoding="utf-8").splitlines() == everything


def test_tabs_leave_blanks_in_tokens(tmp_path: Path) -> None:
    data, model = tmp_path / "d.txt", tmp_path / "m.npz"
    write_sequences(data, *corpus(20, 0, sorted(KINDS)))
    assert "columns where line" in error("train", data, "--model", model)
    assert run("train", data, "--model", model, "--tab", "--quiet").exit_code == 0
    assert ("u:%x[0,0]=New York", "B-N") in SparseCRF.load(model).state_features_
    done = run("eval", model, data, "--tab", "--json")
    assert json.loads(done.stdout)["token_accuracy"] == 1.0


def test_tags_are_put_beside_empty_columns(tmp_path: Path) -> None:
    data, model = tmp_path / "d.txt", tmp_path / "m.npz"
    data.write_text("a\t\tX\nc\td\tY\n", encoding="utf-8")
    assert run("train", data, "--model", model, "--tab", "--quiet").exit_code == 0
    done = run("tag", model, data, "--tab")
    assert done.exit_code == 0, done.output
    assert done.stdout == "a\t\tX\tX\nc\td\tY\tY\n\n"


def test_the_model_is_saved_though_nobody_reads_the_summary(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.npz"
    command = [sys.executable, "-m", "milpscore", "crf", "train", folder / "train.txt", "--model"]
    environment = {**os.environ, "PYTHONPATH": str(Path(milpscore.__file__).parents[1])}
    child = subprocess.Popen(
        list(map(str, [*command, model, "--quiet", "--json"])),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert child.stdout is not None
    child.stdout.close()
    assert child.wait(timeout=300) == 1
    assert SparseCRF.load(model).status_ == "converged"


def test_bad_input_is_one_line(folder: Path, tmp_path: Path) -> None:
    model, train = folder / "m.npz", folder / "train.txt"
    out = ("--model", tmp_path / "m.npz")
    assert "No such file" in error("train", tmp_path / "none.txt", *out)
    assert "there is no folder" in error("train", train, "--model", tmp_path / "a" / "m.npz")
    assert "no trainer 'newton'" in error("train", train, *out, "--solver", "newton")
    assert "add --dev FILE" in error("train", train, *out, "--patience", 2)
    assert "--rho1" in error("train", train, *out, "--rho1", -1)
    bad = tmp_path / "bad.txt"
    bad.write_text("u:%x[0,0]\nz\n", encoding="utf-8")
    assert "bad.txt, line 2: 'z' begins with 'z'" in error("train", train, *out, "--patterns", bad)
    assert "is not a CRF model" in error("tag", train, train)
    bad.write_text("word\n", encoding="utf-8")
    assert "has 1 column, the model reads 2" in error("tag", model, bad)
    assert "no label to compare with" in error("eval", model, folder / "plain.txt")
    assert "exclude each other" in error("tag", model, train, "--posterior", "--n-best", 2)
    assert not (tmp_path / "m.npz").exists()


def test_named_features_cannot_come_from_columns(folder: Path, tmp_path: Path) -> None:
    SparseCRF(max_iterations=1).fit([[{"w": "a"}, {}]], [["A", "B"]]).save(tmp_path / "m.npz")
    assert "trained on named features" in error("tag", tmp_path / "m.npz", folder / "plain.txt")


INTERRUPTED = """
import signal, sys
from milpscore.cli import main
from milpscore_sequence._crf import Watch

class Interrupting(Watch):
    def __call__(self, point):
        if point.iteration == 5:
            signal.raise_signal(signal.SIGINT)
        return super().__call__(point)

sys.modules[Watch.__module__].Watch = Interrupting
main()
"""
"""Ctrl-C at the fifth iteration, however quick the machine is."""


def test_ctrl_c_saves_the_model_and_ends_with_130(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.npz"
    command = [sys.executable, "-c", INTERRUPTED, "crf", "train", folder / "train.txt", "--model"]
    environment = {**os.environ, "PYTHONPATH": str(Path(milpscore.__file__).parents[1])}
    child = subprocess.Popen(
        list(map(str, [*command, model, "--rho1", "0", "--rho2", "0", "--tol", "0"])),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    stdout, stderr = child.communicate(timeout=300)
    assert child.returncode == 130, stderr
    assert "interrupted" in stdout
    assert "Warning: training was interrupted" in stderr
    assert "The model was saved" in stderr
    assert SparseCRF.load(model).status_ == "interrupted"
