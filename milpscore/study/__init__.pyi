from ._bound_curves import (
    BoundCurves as BoundCurves,
    bound_curves as bound_curves,
    seconds_to_gap as seconds_to_gap,
)
from ._errors import StudyError as StudyError
from ._file import load_study as load_study
from ._profiles import data_profile as data_profile, performance_profile as performance_profile
from ._report import (
    StudyReport as StudyReport,
    export_study as export_study,
    read_study as read_study,
    study_table as study_table,
)
from ._runs import RunStore as RunStore, finish_runs as finish_runs
from ._spec import Study as Study
from ._sqlite import FIGURES as FIGURES
from ._study import Counts as Counts, run_study as run_study
