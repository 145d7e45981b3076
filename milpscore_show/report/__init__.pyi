from ._report import report as report

BOOTSTRAPS: int
