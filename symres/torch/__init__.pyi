# The public names of symres.torch: one list for users, type checkers and the loader.
from .gains.gain import Gain as Gain
from .gains.gain import gain as gain
from .initialising.init_report import InitReport as InitReport
from .initialising.initialise import init_ as init_
from .measuring.measure import measure as measure
from .measuring.prediction import Prediction as Prediction
from .measuring.signals import Measurement as Measurement
from .reading.model_reading import Reading as Reading
from .reading.predict_model import predict as predict
from .reading.read_block import ReadBlock as ReadBlock
from .reading.read_model import read as read
from .scaling.coordinate_check import coordinate_check as coordinate_check
from .scaling.width_scaling import WidthScaling as WidthScaling
from .tuning.blockwise.scaled_block import ScaledBlock as ScaledBlock
from .tuning.tune import tune_ as tune_
from .tuning.tuning_report import TuningReport as TuningReport
