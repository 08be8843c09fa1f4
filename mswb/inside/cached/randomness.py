"""Whether code draws at random: what is cached of it would be drawn once and never again."""

from __future__ import annotations

import types
from typing import Any, Iterator, Mapping

import numpy as np

_DRAWS_NAMES = """beta betavariate binomial bytes choice choices dirichlet expovariate exponential f gamma gammavariate
gauss geometric getrandbits gumbel integers laplace logistic lognormal lognormvariate multinomial multivariate_normal
normal normalvariate paretovariate permutation permuted poisson power rand randbelow randbytes randint randn random
random_integers random_sample randrange ranf rayleigh sample shuffle standard_normal token_bytes triangular uniform
urandom uuid4 vonmises vonmisesvariate wald weibull weibullvariate zipf"""
_DRAWS = frozenset(_DRAWS_NAMES.split())
_SEEDED = frozenset(
    {"seed", "default_rng", "RandomState", "Random", "SeedSequence", "PCG64", "Philox", "MT19937", "SFC64"}
)
"""A generator that the function makes by itself, most likely from the number of the sample."""
_SOURCES = frozenset({"random", "secrets", "numpy.random"})

_RANDOM_NAMES = """AutoAugment CutMixBatch CutOut FrequencyMasking MixUp MixUpBatch RandAugment TimeMasking
TrivialAugmentWide UniformAugment"""
_RANDOM_OPS = frozenset(_RANDOM_NAMES.split())
"""Transforms of MindSpore that are random and whose names don't begin with Random."""


def drawn_at_random(code: types.CodeType, used: Mapping[str, Any]) -> str:
    """What a function draws with ("random.random", "np.random.rand"), or an empty text.

    Args:
        used: the globals that the function loads, by name.
    """
    names = {name for part in _all_codes(code) for name in part.co_names}
    if names & _SEEDED:
        return ""
    for name, value in sorted(used.items()):
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return name
        if isinstance(value, types.ModuleType):
            drawn = sorted(names & _DRAWS - {"random"} or names & _DRAWS)
            if value.__name__ in _SOURCES and drawn:
                return f"{value.__name__}.{drawn[0]}"
            if value.__name__ == "numpy" and "random" in names and drawn != ["random"]:
                return f"numpy.random.{drawn[0]}"
            if value.__name__ == "os" and "urandom" in names:
                return "os.urandom"
        origin = getattr(value, "__module__", None) or type(getattr(value, "__self__", None)).__module__
        if (
            callable(value)
            and str(origin).startswith(("random", "secrets", "numpy.random"))
            and not isinstance(value, type)
        ):
            return f"{origin}.{getattr(value, '__name__', name)}"
    return ""


def random_operation(operation: Any) -> str:
    """The name of a MindSpore transform that is random, by itself or by one that it holds; an empty text if none is."""
    name = type(operation).__name__
    if type(operation).__module__.startswith("mindspore.") and (name.startswith("Random") or name in _RANDOM_OPS):
        return name
    inner = getattr(operation, "transforms", None)
    for item in inner if isinstance(inner, (list, tuple)) else ():
        found = random_operation(item)
        if found:
            return found
    return ""


def _all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all_codes(constant)
