"""Documents, figures, records and code from derived quantities."""

from .paper.diagram import PhaseDiagram as PhaseDiagram
from .paper.diagram import phase_diagram as phase_diagram
from .render import TARGETS as TARGETS
from .render import Module as Module
from .render import export as export
