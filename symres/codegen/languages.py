"""The target languages by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping

from .planning.language import Language
from .targets.numpy.dialect import NUMPY_LANGUAGE
from .targets.torch.dialect import TORCH_LANGUAGE

LANGUAGES: Mapping[str, Language] = {language.library: language for language in (NUMPY_LANGUAGE, TORCH_LANGUAGE)}
