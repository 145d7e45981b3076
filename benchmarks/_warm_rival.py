"""Warm fits of imodels' FastRiskScoreClassifier, run by the Python of its own environment.

python _warm_rival.py FOLDER

FOLDER holds data.npz: X, its columns of 0 and 1 (B), y, the number of fits and of terms, the most
points; answer.json receives the CPU seconds of each fit and the loss, of B as it is and of X.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def main() -> None:
    """Fit each table so often; the first fit loads what was compiled."""
    from imodels import FastRiskScoreClassifier  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    folder, answer = Path(sys.argv[1]), {}
    data = dict(np.load(folder / "data.npz"))
    settings = {"k": int(data["terms"]), "max_points": int(data["reach"])}
    for name, binarize in (("B", False), ("X", True)):
        table, y, taken = data[name], data["y"], []
        for _ in range(int(data["fits"])):
            model = FastRiskScoreClassifier(binarize=binarize, **settings)
            began = time.process_time()
            model.fit(table, y)
            taken.append(time.process_time() - began)
        answer[name] = {"times": taken, "loss": model.train_loss_}
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
