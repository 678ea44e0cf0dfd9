"""Numba: functions that are compiled at the first call, in two threads or more."""

from .target import TARGET as TARGET
