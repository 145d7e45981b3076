from ._race import Race as Race, instance_race as instance_race, race_study as race_study
from ._report import StudyReport as StudyReport, read_study as read_study
from ._spec import Study as Study, load_study as load_study
from .profiles import (
    bound_curves as bound_curves,
    data_profile as data_profile,
    performance_profile as performance_profile,
    seconds_to_gap as seconds_to_gap,
)
from .runs import run_study as run_study
from .store import StudyError as StudyError
