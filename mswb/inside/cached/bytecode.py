"""A function as its byte code, the globals that it uses, and whose code a file is."""

from __future__ import annotations

import dis
import functools
import importlib.util
import os
import re
import sys
import sysconfig
import types
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Set, Tuple

_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_TAKES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_STANDARD = tuple({os.path.realpath(sysconfig.get_paths()[name]) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_BESIDE_CALLS = frozenset({"CACHE", "PRECALL", "PUSH_NULL"})
_SPACES = frozenset({"globals", "locals"})
_HAS_DOC = 0x4000000
"""CO_HAS_DOCSTRING of Python 3.13."""


def code_parts(code: types.CodeType, doc: Optional[str] = None) -> Iterator[bytes]:
    """Byte code with all that it refers to by number; neither lines, nor comments, nor the function's doc text."""
    flags = code.co_flags & ~_HAS_DOC
    yield tagged("code", repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)))
    yield code.co_code
    yield getattr(code, "co_exceptiontable", b"")
    yield tagged("names", repr((code.co_names, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])))
    for index, constant in enumerate(code.co_consts):
        if isinstance(constant, types.CodeType):
            yield from code_parts(constant)
        elif isinstance(constant, frozenset):
            yield tagged("frozenset", repr(sorted(map(repr, constant))))
        else:
            told = None if index == 0 and doc is not None and constant == doc else constant
            yield tagged("constant", type(told).__name__ + repr(told))


def globals_of(function: types.FunctionType) -> List[Tuple[str, Any, FrozenSet[str]]]:
    """The globals that a function loads and the modules that it imports, sorted by name.

    With each the attributes that are taken of it; none where it is used as a whole.
    """
    space = function.__globals__
    found: Dict[str, Any] = {}
    attributes: Dict[str, Set[str]] = {}
    whole: Set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        steps = list(dis.get_instructions(code))
        for step, following in zip(steps, [*steps[1:], None]):
            name = step.argval
            if step.opname in _LOADS and name in space:
                found[name] = space[name]
                if following is not None and following.opname in _TAKES:
                    attributes.setdefault(name, set()).add(str(following.argval))
                else:
                    whole.add(name)
            elif step.opname == "IMPORT_NAME" and isinstance(name, str):
                module = sys.modules.get(name) or _unloaded(name)
                if module is not None:
                    found[f"import {name}"] = module
    taken = {name: frozenset() if name in whole else frozenset(attributes.get(name, ())) for name in found}
    return [(name, found[name], taken[name]) for name in sorted(found)]


def asks_for_names(function: types.FunctionType) -> str:
    """``globals`` or ``locals``, where a function calls that: what it looks up there is not in its code.

    ``locals()`` in a constructor is left alone: what it takes of them becomes attributes.
    """
    names = {name for code in all_codes(function.__code__) for name in code.co_names}
    names -= {"locals"} if function.__name__ == "__init__" else set()
    asked = sorted(name for name in names & _SPACES if name not in function.__globals__)
    return asked[0] if asked else ""


def calls_without_arguments(code: types.CodeType) -> Set[str]:
    """The names that a function calls with no argument, or with None alone."""
    found: Set[str] = set()
    for part in all_codes(code):
        steps = [step for step in dis.get_instructions(part) if step.opname not in _BESIDE_CALLS]
        for step, following, third in zip(steps, steps[1:], [*steps[2:], steps[-1]]):
            with_none = following.opname == "LOAD_CONST" and following.argval is None and _is_call(third, 1)
            if step.opname in _LOADS | _TAKES and (with_none or _is_call(following, 0)):
                found.add(str(step.argval))
    return found


def _is_call(step: dis.Instruction, arguments: int) -> bool:
    return step.opname in ("CALL", "CALL_FUNCTION", "CALL_METHOD") and step.arg == arguments


def all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function and of all functions that are written in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)


def texts_of(code: types.CodeType) -> List[str]:
    """The texts in a function that may be paths, or the beginnings of some."""
    found = [text for part in all_codes(code) for text in part.co_consts if isinstance(text, str)]
    return [text for text in found if os.sep in text or "." in text]


def _unloaded(name: str) -> Optional[types.ModuleType]:
    """A stand-in for a module that is not imported yet: its name and its file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    if is_library(spec.origin):
        return None
    module = types.ModuleType(name)
    module.__file__ = spec.origin
    return module


@functools.lru_cache(maxsize=None)
def is_library_code(file: str) -> Optional[bool]:
    """:func:`is_library` of a code's file; None where there is no such file (exec, eval, frozen modules)."""
    return is_library(file) if os.path.isfile(file) else None


def is_library(path: str) -> bool:
    """Whether a file is of Python or of an installed package, and not the user's own."""
    real = os.path.realpath(path)
    if real.startswith(_STANDARD) or _INSTALLED.search(real) is not None:
        return True
    folder = os.path.dirname(real)
    if os.path.basename(real).startswith("__init__."):
        folder = os.path.dirname(folder)
    return _is_install_target(folder)


@functools.lru_cache(maxsize=None)
def _is_install_target(folder: str) -> bool:
    """Whether an installer has put packages there (``pip install --target``)."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def tagged(tag: str, text: str) -> bytes:
    """A piece of a description that can't be taken for two others put together."""
    data = text.encode("utf-8", "surrogatepass")
    return b"%s %d:%s;" % (tag.encode(), len(data), data)
