"""Whether code draws at random: what is cached of it would be drawn once and never again."""

from __future__ import annotations

import random
import types
from typing import Any, Iterator, Mapping, Tuple

import numpy as np

from .bytecode import all_codes, calls_without_arguments

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
_AUGMENTING = frozenset({"mindspore", "torchvision", "albumentations"})


GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""Objects that give other numbers each time, from a state of their own."""


def drawn_at_random(code: types.CodeType, used: Mapping[str, Any]) -> str:
    """What a function draws with ("random.random", "np.random.rand"), or an empty text.

    Args:
        used: the globals that the function loads, by name.
    """
    names = {name for part in all_codes(code) for name in part.co_names}
    unseeded = sorted(_SEEDED & calls_without_arguments(code))
    if unseeded and _of_random(used, unseeded[0]):
        return f"{unseeded[0]}() without a seed"
    if names & _SEEDED:
        return ""
    for name, value in sorted(used.items()):
        if isinstance(value, GENERATORS):
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


def _of_random(used: Mapping[str, Any], name: str) -> bool:
    """Whether a name that a function calls is most likely one of numpy's or Python's generators."""
    for key, value in used.items():
        if isinstance(value, types.ModuleType) and (value.__name__ in _SOURCES or value.__name__ == "numpy"):
            return True
        if key == name and str(getattr(value, "__module__", "")).startswith(("random", "numpy.random")):
            return True
        if isinstance(getattr(value, "__self__", None), GENERATORS):
            return True
    return False


def methods_that_draw(value: Any) -> Iterator[Tuple[str, str]]:
    """The methods of an object, by name, that use a generator of random numbers which it keeps, and that attribute."""
    kept = {name for name, content in getattr(value, "__dict__", {}).items() if isinstance(content, GENERATORS)}
    for kind in type(value).__mro__ if kept else ():
        for name, method in vars(kind).items():
            method = getattr(method, "__func__", getattr(method, "fget", method))
            if isinstance(method, types.FunctionType):
                codes = list(all_codes(method.__code__))[name == "__init__" :]  # what is written in it runs later
                words = {word for code in codes for word in (*code.co_names, *map(_word, code.co_consts))}
                used = sorted(kept & words)
                if used:
                    yield f"{method.__module__}:{method.__qualname__}", f"self.{used[0]}"


def random_operation(operation: Any) -> str:
    """The name of a transform that is random, by itself or by one that it holds; an empty text if none is."""
    name = type(operation).__name__
    package = type(operation).__module__.partition(".")[0]
    if package in _AUGMENTING and (name.startswith("Random") or name in _RANDOM_OPS):
        return name
    inner = getattr(operation, "transforms", None)
    for item in inner if isinstance(inner, (list, tuple)) else ():
        found = random_operation(item)
        if found:
            return found
    return ""


def _word(constant: Any) -> str:
    """A name that ``getattr`` may be called with."""
    return constant if isinstance(constant, str) else ""
