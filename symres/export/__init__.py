"""Documents, figures, records and code from derived quantities."""

from .render import TARGETS as TARGETS
from .render import Module as Module
from .render import export as export
