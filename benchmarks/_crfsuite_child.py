"""python-crfsuite's fit, by the Python of its own environment: nothing of milpscore is imported.

python _crfsuite_child.py FOLDER    reads problem.json there, writes answer.json
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Train on attributes and labels given by number; answer with the weights by number."""
    import pycrfsuite  # type: ignore[import-not-found]

    folder = Path(sys.argv[1])
    asked = json.loads((folder / "problem.json").read_text())
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    for attributes, labels in zip(asked["attributes"], asked["labels"], strict=True):
        trainer.append(
            [[str(number) for number in held] for held in attributes], [str(y) for y in labels]
        )
    trainer.set_params(asked["parameters"])
    model = str(folder / "model.crfsuite")
    started = time.process_time()
    trainer.train(model)
    seconds = time.process_time() - started
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    dump = tagger.info()
    answer = {
        "version": version("python-crfsuite"),
        "seconds": seconds,
        "losses": [row["loss"] for row in trainer.logparser.iterations],
        "times": [row["time"] for row in trainer.logparser.iterations],
        "states": [[int(u), int(y), w] for (u, y), w in dump.state_features.items()],
        "transitions": [[int(a), int(b), w] for (a, b), w in dump.transitions.items()],
    }
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
