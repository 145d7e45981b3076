import milpscore_sequence
import milpscore_study
import milpscore_study.instances
from milpscore_show import plots as plots, report as report
from milpscore_show.studio import studio as studio

instances = milpscore_study.instances
sequence = milpscore_sequence
study = milpscore_study
