from ._report import report as report
from .timed import survival_report as survival_report

BOOTSTRAPS: int
