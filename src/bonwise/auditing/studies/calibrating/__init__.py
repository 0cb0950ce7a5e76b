"""The parts of the study of calibration: the maps, the covariates, what was found of a judge, and its words."""
