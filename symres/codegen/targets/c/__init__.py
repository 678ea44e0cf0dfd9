"""C: one source and one header, which any language can link."""

from .target import TARGET as TARGET
