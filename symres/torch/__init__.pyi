from .measuring.measure import measure as measure
from .measuring.prediction import Prediction as Prediction
from .measuring.signals import Measurement as Measurement
