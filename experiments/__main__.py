"""Run an experiment: ``python -m experiments NAME`` or ``python -m experiments FILE.toml``."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS
from milpscore.core.errors import MilpscoreError, OptionError
from milpscore_study.engines import on_dask

if TYPE_CHECKING:
    from pandas import DataFrame

INTERRUPTED = 130
_SPREAD = "_stdev"


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; 0, 2 for bad input, 130 after Ctrl-C."""
    asked = _parser().parse_args(arguments)
    try:
        return _run(asked)
    except MilpscoreError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = f"the finished runs are in {asked.out}: the same command goes on from there"
        print(kept if asked.out else "nothing is kept without --out FILE.sqlite", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", help=f"{', '.join(EXPERIMENTS)}, or a TOML file")
    parser.add_argument("--runs", type=int, help="draws of the data")
    parser.add_argument("--out", type=Path, help="keep each finished run in this SQLite file")
    parser.add_argument("--plot", type=Path, help="draw what the source draws")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1 for all cores")
    parser.add_argument("--dask", help="run on the workers of this scheduler, tcp://HOST:PORT")
    parser.add_argument("--seed", type=int, help="another random_state")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=JSON", help="another setting"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="count no runs on standard error")
    return parser


def _run(asked: argparse.Namespace) -> int:
    name, settings = _settings(asked)
    runs = settings.pop("runs", None)
    runs = runs if asked.runs is None else asked.runs
    experiment = EXPERIMENTS[name].of(settings)
    _refuse_places(asked)

    def progress(done: int, total: int) -> None:
        print(f"{name}: {done} of {total} runs", file=sys.stderr)

    shown_progress = None if asked.quiet else progress
    with on_dask(asked.dask):
        found = experiment.run(runs, out=asked.out, n_jobs=asked.jobs, progress=shown_progress)
    tables = found.tables()
    if asked.json:
        records = {key: frame.to_dict("records") for key, frame in tables.items()}
        print(json.dumps({"experiment": name, **experiment.settings(), **records}, default=str))
    else:
        for key, frame in tables.items():
            print(f"{key}\n{shown(frame)}\n")
    if asked.plot:
        experiment.draw(found).savefig(asked.plot, dpi=150)
    return 0


def _settings(asked: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The experiment's name, and its settings from the file and the command line."""
    name, settings = asked.name, {}
    try:
        if name.endswith(".toml"):
            content = tomllib.loads(Path(name).read_text(encoding="utf-8"))
            name, settings = content["experiment"], dict(content.get("settings", {}))
        for each in asked.set:
            key, _, value = each.partition("=")
            settings[key] = json.loads(value)
    except (OSError, ValueError, KeyError) as error:
        raise OptionError(f"{asked.name} and --set {asked.set}: {error}") from error
    if asked.seed is not None:
        settings["random_state"] = asked.seed
    return EXPERIMENTS.name_of(name), settings


def _refuse_places(asked: argparse.Namespace) -> None:
    """Refuse files that could not be written before the runs, not after them."""
    for path in (asked.out, asked.plot):
        if path is not None and not path.resolve().parent.is_dir():
            raise OptionError(f"there is no folder {str(path.parent)!r} for {path.name}: make it")
    if asked.plot:
        import matplotlib as mpl
        from matplotlib.backend_bases import FigureCanvasBase

        known = FigureCanvasBase.get_supported_filetypes()
        if asked.plot.suffix.lstrip(".") not in known:
            raise OptionError(f"--plot {asked.plot}: the name must end in one of {sorted(known)}")
        mpl.use("Agg")


def shown(frame: DataFrame) -> str:
    """A table as text; a column and its standard deviation (NAME_stdev) stand as one."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        spread = frame.get(name + _SPREAD)
        if name.endswith(_SPREAD):
            continue
        columns[name] = frame[name]
        if spread is not None:
            columns[name] = [_cell(*pair) for pair in zip(frame[name], spread, strict=True)]
    return frame.assign(**columns)[list(columns)].to_string(
        index=False, na_rep="-", float_format="{:.4g}".format
    )


def _cell(mean: float, spread: float) -> str:
    """A number with its standard deviation, where there are any."""
    if math.isnan(spread):
        return "-" if math.isnan(mean) else f"{mean:.4g}"
    return f"{mean:.3f}±{spread:.3f}"


if __name__ == "__main__":
    sys.exit(main())
