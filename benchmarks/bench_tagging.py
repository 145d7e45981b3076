"""Reading, coding and tagging of sequences beside Wapiti, and the CPU of the command line.

By words and parts of speech as unigrams and bigrams, and by the patterns that come with Wapiti's
chunking data: 19,172 tokens, for reading and tagging eleven times over.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import _wapiti as wapiti  # noqa: E402
from _common import Report, arguments  # noqa: E402

from milpscore_sequence import SparseCRF, read_sequences, write_sequences  # noqa: E402
from milpscore_sequence.coding import Coding  # noqa: E402

PATTERNS = ["u:w=%x[0,0]", "b:w=%x[0,0]", "u:p=%x[0,1]", "b:p=%x[0,1]", "b"]


def reading_and_tagging(report: Report, folder: Path, quick: bool) -> None:
    """Reading with patterns, and tagging, by the patterns of the race and by Wapiti's own."""
    train_file = wapiti.SOURCE / "dat" / "chtrain.txt"
    many = folder / "many.txt"
    many.write_text((train_file.read_text().rstrip("\n") + "\n\n") * (2 if quick else 11))
    rows = []
    for name, lines in {
        "words and parts of speech": PATTERNS,
        "Wapiti's own": (wapiti.SOURCE / "dat" / "chpattern.txt").read_text().split("\n"),
    }.items():
        patterns, model = folder / "read.txt", folder / "read.model"
        patterns.write_text("\n".join(lines) + "\n")
        theirs = wapiti.trained(
            "-a", "l-bfgs", patterns=patterns, data=many, model=model, level=0.0, patience=0.0
        ).read
        seconds = []
        for _ in range(3):
            started = time.process_time()
            Coding.learn(*read_sequences(many), lines)
            seconds.append(time.process_time() - started)
        wapiti.trained(
            "-a", "l-bfgs", "-1", "1", patterns=patterns, data=train_file, model=model, level=0.0,
            patience=1.0 if quick else 8.0,
        )  # fmt: skip
        their_tags = min(wapiti.labelled(model, many, folder / "tags.txt") for _ in range(3))
        crf = SparseCRF(patterns=lines, rho1=1.0, max_iterations=6)
        crf.fit(*read_sequences(train_file))
        tags = []
        for _ in range(3):
            started = time.process_time()
            X, _ = read_sequences(many)
            write_sequences(folder / "ours.txt", X, crf.predict(X))
            tags.append(time.process_time() - started)
        tokens = sum(map(len, X))
        rows.append(
            {"patterns": name, "tokens": tokens, "Wapiti reads, s": theirs,
             "ours, s": min(seconds), "Wapiti tags, tokens a s": tokens / their_tags,
             "ours, tokens a s": tokens / min(tags)}
        )  # fmt: skip
        for what, ratio in (
            ("reading and patterns", theirs / min(seconds)), ("tagging", their_tags / min(tags)),
        ):  # fmt: skip
            report.target(f"{what}, {name}: Wapiti's CPU / ours", ">= 1", f"{ratio:.2f}",
                          ratio >= 1)  # fmt: skip
    report.tables.append(("Reading and tagging, from a file to a file, in process", rows))
    crf.save(folder / "m.npz")
    _commands(report, folder, train_file)


def _commands(report: Report, folder: Path, data: Path) -> None:
    """CPU seconds of the command line: tagging a file, a first training, a second one."""
    tag = ["tag", folder / "m.npz", wapiti.SOURCE / "dat" / "chtest.txt", "--out", folder / "o"]
    fit = ["train", data, "--model", folder / "c.npz", "--max-iterations", "0", "--quiet"]
    rows = []
    for name, command, solvers in (
        ("tag 1,896 tokens", tag, [[]]),
        ("train, no iteration", fit, [["--solver", each] for each in ("owlqn", "sbcd", "sgd")]),
    ):
        for solver in solvers:
            seconds = []
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "-".join(["k", *solver]))}
            for _ in range(3 if name.startswith("tag") else 2):
                before = os.times()
                subprocess.run(
                    [sys.executable, "-m", "milpscore", "crf", *map(str, command), *solver],
                    check=True, env=environment, capture_output=True, timeout=600,
                )  # fmt: skip
                after = os.times()
                seconds.append(
                    after.children_user + after.children_system - before.children_user
                    - before.children_system
                )  # fmt: skip
            rows.append(
                {"command": " ".join(["crf", name, *solver[1:]]),
                 "first, kernels to be made": seconds[0], "again": min(seconds[1:])}
            )  # fmt: skip
    report.tables.append(("The command line, CPU s", rows))
    report.target("crf tag, start to end", "<= 0.8 s", f"{rows[0]['again']:.2f} s",
                  rows[0]["again"] <= 0.8)  # fmt: skip
    for row in rows[1:]:
        made = row["first, kernels to be made"] - row["again"]
        report.target(f"kernels of {row['command']}", "<= 5 s", f"{made:.1f} s", made <= 5)


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Reading and tagging of sequences", settings)
    if wapiti.PROGRAM.is_file():
        with tempfile.TemporaryDirectory() as folder:
            reading_and_tagging(report, Path(folder), settings.quick)
    else:
        report.note("skipped: Wapiti; build it by make bench-rivals or name MILPSCORE_WAPITI")
    report.note("All seconds are CPU seconds of one thread, the least of three.")
    report.finish()


if __name__ == "__main__":
    main()
