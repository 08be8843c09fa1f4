"""What a transform is, as digests: its code and everything that its code uses, so that any change of it is seen.

A function is told by its byte code, constants, names, defaults, closure, and the globals that it loads; each function,
class and module that is met on the way has a digest of its own, so a change can be told by name. Modules of installed
packages count by version. What can't be told apart by its value (an open file, a C object) is refused: to guess would
be to serve old samples some day.
"""

from __future__ import annotations

import enum
import functools
import inspect
import logging
import os
import re
import sys
import threading
import types
import weakref
from pathlib import PurePath
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

import numpy as np

from .bytecode import asks_for_names, code_parts, globals_of, is_library, is_library_code, tagged, texts_of
from .kinds import hex_of, holder_of, made_in_c, module_of, name_of, slots_of, source_of
from .randomness import GENERATORS, drawn_at_random, methods_that_draw, random_operation
from .serve import Rest, Samples

_SCALARS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_PLAIN = frozenset({type(None), bool, int, float, str, bytes})
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)
_CALLABLES = (types.BuiltinFunctionType, types.MethodDescriptorType, types.MethodWrapperType, *_DESCRIPTORS)
_SKIPPED_NAMES = "__dict__ __weakref__ __module__ __qualname__ __doc__ __firstlineno__ __static_attributes__"
_SKIPPED = frozenset(_SKIPPED_NAMES.split())
_OF_ENUMS = frozenset({"_value2member_map_", "__objclass__", "_name_", "_sort_order_", "_inverted_"})
"""What an enum fills while it is used, or what its members have by their place."""
_CONTENTS = {"Schema": ("to_json",), "Vocab": ("vocab",), "Tensor": ("as_array", "asnumpy"), "Parameter": ("asnumpy",)}
"""Objects of MindSpore that lie in C++, with the methods that give what they hold."""
_masked: Any = np.ma
_OF_MASKED = frozenset(vars(_masked.MaskedArray([0])))
_CHANGING = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet, weakref.ReferenceType)
"""What packages keep for speed in the closures of their wrappers, such as the cache of a singledispatch."""
MAX_DEPTH = 150


class Unhashable(TypeError):
    """A value whose content can't be told. The text names where it is and what to do."""

    def __init__(self, place: str, value: Any, does: str = "") -> None:
        does = does or f"holds a {type(value).__module__}.{type(value).__qualname__}, whose content can't be told"
        super().__init__(
            f"{place} {does}: give cached(..., version='1') and change the version when the transform changes"
        )


class Digester:
    """Collects the digests of all code that some values use.

    Args:
        tolerant: take what can't be told by its type alone, since the user gives a version.

    Attributes:
        code: from the name of a function, class or module ("train:resize") to its digest.
        packages: versions of the installed packages that are used.
        random: functions that draw at random, and what they call.
        texts: what may name files: texts, paths and lists of them, each with the name of what holds it.
    """

    def __init__(self, tolerant: bool = False) -> None:
        self.code: Dict[str, str] = {}
        self.packages: Dict[str, str] = {}
        self.random: Dict[str, str] = {}
        self.texts: List[Tuple[str, Any]] = []
        self._tolerant = tolerant
        self._foreign = False
        self._names: Dict[int, str] = {}
        self._kept: List[Any] = []
        self._open: Dict[int, int] = {}

    def digest(self, value: Any, place: str) -> str:
        """The digest of a value in hex.

        Args:
            place: where the value stands, for the message of :class:`Unhashable`.

        Raises:
            Unhashable: something in it can't be told by its content.
        """
        return hex_of(self._parts(value, place))

    def _parts(self, value: Any, place: str) -> Iterator[bytes]:
        """A description of a value; two differ when the values do."""
        kind = type(value)
        if kind in _SCALARS:
            if kind is str:
                self.texts.append((holder_of(place), value))
            yield tagged(kind.__name__, repr(value))
            return
        if kind in (list, tuple) and set(map(type, value)) <= _PLAIN:
            self.texts.append((holder_of(place), value))
            yield tagged(kind.__name__, repr(value))
            return
        if id(value) in self._open:
            yield tagged("again", str(self._open[id(value)]))
            return
        if len(self._open) > MAX_DEPTH:
            raise Unhashable(place + " (nested too deeply)", value)
        if self._foreign and isinstance(value, _CHANGING):
            yield from self._by_type(value, place)
            return
        self._open[id(value)] = len(self._open)
        try:
            yield from self._compound(value, place)
        finally:
            del self._open[id(value)]

    def _compound(self, value: Any, place: str) -> Iterator[bytes]:
        for kinds, describe in _FORMS:
            if isinstance(value, kinds):
                yield from describe(self, value, place)
                return
        yield from self._object(value, place)

    # Containers and data

    def _sequence(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, str(len(value)))
        for index, item in enumerate(value):
            yield from self._parts(item, f"{place}[{index}]")

    def _set(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, "".join(sorted(self.digest(item, place) for item in value)))

    def _mapping(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, str(len(value)))
        for key, item in value.items():
            yield from self._parts(key, place)
            yield from self._parts(item, f"{place}[{key!r:.60}]")

    def _array(self, value: "np.ndarray[Any, Any]", place: str) -> Iterator[bytes]:
        kind = type(value)
        plain = value.view(np.ndarray) if kind is not np.ndarray else value
        # Of a record dtype `str` says the length alone.
        yield tagged("array", f"{repr(plain.dtype) if plain.dtype.names else plain.dtype.str}{plain.shape}")
        if plain.dtype.hasobject:
            yield from self._parts(plain.tolist(), place)
        else:
            yield np.ascontiguousarray(plain).tobytes()
        if kind is not np.ndarray:
            yield from self._parts(kind, place)
            if isinstance(value, _masked.MaskedArray):
                yield from self._parts([_masked.getmaskarray(value), np.asarray(value.fill_value)], f"{place}.mask")
            if not self._in_package(kind.__module__):
                own = {name: item for name, item in vars(value).items() if name not in _OF_MASKED}
                yield from self._attributes(own, place)

    def _text(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, str(value))

    def _path(self, value: PurePath, place: str) -> Iterator[bytes]:
        self.texts.append((holder_of(place), value))
        yield from self._text(value, place)

    def _repr(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, repr(value))

    def _scalar(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, f"{value.dtype!r}{value!r}" if value.dtype.names else repr(value))

    def _buffer(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, "")
        yield bytes(value)

    def _pattern(self, value: "re.Pattern[Any]", place: str) -> Iterator[bytes]:
        yield tagged("pattern", repr((value.pattern, value.flags)))

    def _enum(self, value: enum.Enum, place: str) -> Iterator[bytes]:
        yield tagged("enum", str(value.name))
        yield from self._parts(type(value), place)
        told = {name: item for name, item in vars(value).items() if name not in _OF_ENUMS}
        yield from self._attributes(told, place)

    def _ufunc(self, value: np.ufunc, place: str) -> Iterator[bytes]:
        if (
            value.__name__.endswith(" (vectorized)") and not self._tolerant
        ):  # of np.frompyfunc, which hides its function
            raise Unhashable(place, value)
        yield from self._text(value, place)

    def _by_type(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged("type", name_of(type(value)))

    def _logger(self, value: logging.Logger, place: str) -> Iterator[bytes]:
        yield tagged("logger", value.name)

    # Code

    def _function(self, function: types.FunctionType, place: str) -> Iterator[bytes]:
        yield tagged("function", self._register(function, self._function_parts))

    def _function_parts(self, function: types.FunctionType, name: str) -> Iterator[bytes]:
        foreign = self._foreign = self._in_library(function)
        if foreign and self._is_by_name(function):
            return  # its version says all of it
        if not foreign:
            asks = "" if self._tolerant else asks_for_names(function)
            if asks:
                raise Unhashable(name, function, f"calls {asks}(), and what it takes of them can't be told")
            yield from code_parts(function.__code__, function.__doc__)
            self.texts += [("", text) for text in texts_of(function.__code__)]
        yield from self._if_any(function.__defaults__, f"a default of {name}", foreign)
        yield from self._if_any(function.__kwdefaults__, f"a default of {name}", foreign)
        yield from self._attributes(vars(function), name)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            place = f"the closure variable {variable!r} of {name}"
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            yield tagged("closure", variable)
            yield from self._used(content, place, name, variable)
        if not foreign:
            yield from self._globals(function, name)

    def _if_any(self, value: Any, place: str, foreign: bool) -> Iterator[bytes]:
        """Defaults; those of a package only where there are some, since nothing of it means its version alone."""
        if value or not foreign:
            yield from self._parts(value, place)

    def _globals(self, function: types.FunctionType, name: str) -> Iterator[bytes]:
        used = {}
        for variable, content, attributes in globals_of(function):
            used[variable] = content
            place = f"the global {variable!r}, which {name} uses,"
            yield tagged("global", variable)
            if attributes and self._is_space(content):
                for attribute in sorted(attributes):
                    yield tagged("attribute", attribute)
                    yield from self._parts(getattr(content, attribute, None), place)
            else:
                yield from self._used(content, place, name, variable)
        drawn = drawn_at_random(function.__code__, used)
        if drawn:
            self.random[name] = drawn

    def _used(self, content: Any, place: str, name: str, variable: str) -> Iterator[bytes]:
        """What a function has in a closure variable or a global; a generator there makes it random."""
        if isinstance(content, GENERATORS):
            self.random[name] = variable
            yield from self._object(content, place)
        else:
            yield from self._parts(content, place)

    def _is_by_name(self, function: types.FunctionType) -> bool:
        """Whether a function is what a package has under its name, and no wrapper that was made for the user."""
        found: Any = sys.modules.get(function.__module__ or "")
        if found is None or not self._in_package(function.__module__):
            return False
        for part in function.__qualname__.split("."):
            found = getattr(found, "__dict__", {}).get(part)
        return getattr(found, "__func__", found) is function

    def _in_library(self, function: types.FunctionType) -> bool:
        """Whether a function's code is of a package, whatever it is named after (``functools.wraps``)."""
        module = function.__globals__.get("__name__")
        told = is_library_code(function.__code__.co_filename)
        if told is None:  # made by exec or eval, or of a file that is not here
            return isinstance(module, str) and self._in_package(module)
        if told:
            self._in_package(module)
        return told

    def _is_space(self, value: Any) -> bool:
        """Whether of a global only those attributes count that are used: the user's modules, parsed arguments."""
        if isinstance(value, types.ModuleType):
            return not self._in_package(value.__name__)
        return isinstance(value, types.SimpleNamespace) or type(value).__name__ == "Namespace"

    def _method(self, method: types.MethodType, place: str) -> Iterator[bytes]:
        yield from self._parts(method.__func__, place)
        yield from self._parts(method.__self__, place)

    def _partial(self, value: "functools.partial[Any]", place: str) -> Iterator[bytes]:
        yield from self._parts(value.func, place)
        yield from self._parts(value.args, place)
        yield from self._parts(value.keywords, place)
        if type(value) is not functools.partial:
            yield from self._parts(type(value), place)
        yield from self._attributes(vars(value), place)

    def _builtin(self, value: Any, place: str) -> Iterator[bytes]:
        owner = getattr(value, "__self__", None)
        yield tagged("builtin", f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}")
        self._in_package(getattr(value, "__module__", None) or getattr(type(owner), "__module__", None))
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            yield from self._parts(owner, place)

    def _wrapped(self, value: Any, place: str) -> Iterator[bytes]:
        yield tagged(type(value).__name__, "")
        inner = [getattr(value, name, None) for name in ("__func__", "fget", "fset", "func")]
        yield from self._parts([item for item in inner if item is not None], place)

    def _class(self, kind: type, place: str) -> Iterator[bytes]:
        yield tagged("class", self._register(kind, self._class_parts))

    def _class_parts(self, kind: type, name: str) -> Iterator[bytes]:
        foreign = self._in_package(kind.__module__)
        if not foreign:
            yield from self._parts(kind.__bases__, f"a base of {name}")
            if type(kind) is not type:
                yield from self._parts(type(kind), f"the metaclass of {name}")
        for attribute, content in sorted(vars(kind).items()):
            if attribute in _SKIPPED or attribute.startswith("_abc_") or isinstance(content, _DESCRIPTORS):
                continue
            if attribute in _OF_ENUMS and issubclass(kind, enum.Enum):
                continue
            # Of a class of a package only what the user has put into it.
            if foreign and not (isinstance(content, types.FunctionType) and not self._in_library(content)):
                continue
            yield tagged("attribute", attribute)
            yield from self._parts(content, f"{name}.{attribute}")

    def _module(self, module: types.ModuleType, place: str) -> Iterator[bytes]:
        yield tagged("module", self._register(module, self._module_parts))

    def _module_parts(self, module: types.ModuleType, name: str) -> Iterator[bytes]:
        file = getattr(module, "__file__", None)
        if self._in_package(module.__name__) or file is None:
            return
        yield source_of(file)
        # What it imports from other modules of the user counts too.
        for content in list(vars(module).values()):
            other = content if isinstance(content, types.ModuleType) else sys.modules.get(module_of(content))
            if other is not None and other is not module and not self._in_package(other.__name__):
                yield from self._parts(other, name)

    def _register(self, thing: Any, parts: Callable[[Any, str], Iterator[bytes]]) -> str:
        """The name of a piece of code, whose digest is taken when it is met for the first time."""
        known = self._names.get(id(thing))
        if known is not None:
            return known
        name, number = name_of(thing), 1
        while name in self.code:
            number += 1
            name = f"{name_of(thing)}#{number}"
        self._names[id(thing)] = name
        self._kept.append(thing)
        self.code[name] = ""
        # A chain of functions is no nesting of values.
        outer, self._open, self._foreign = (self._open, self._foreign), {}, False
        try:
            content = list(parts(thing, name))
        finally:
            self._open, self._foreign = outer
        if content:
            self.code[name] = hex_of(iter(content))
        else:
            del self.code[name]
        return name

    def _in_package(self, module: Optional[str]) -> bool:
        """Whether a module is of Python or of an installed package, whose version is then recorded."""
        top = (module or "builtins").partition(".")[0]
        if top in ("__main__", "__mp_main__"):
            return False
        found = sys.modules.get(top)
        file = getattr(found, "__file__", None)
        if file is None and found is not None and not list(getattr(found, "__path__", [])):
            return True
        paths = [file] if file else list(getattr(found, "__path__", []))
        if not any(map(is_library, paths)):
            return False
        version = getattr(found, "__version__", None)
        if isinstance(version, str):
            self.packages[top] = version
        return True

    # Objects

    def _object(self, value: Any, place: str) -> Iterator[bytes]:
        kind = type(value)
        if kind in (Samples, Rest):  # samples of another cache, whose key says all of them
            yield tagged("cache", value.mswb_cache_key)
            return
        random = random_operation(value)
        if random:
            self.random[place] = random
        inner = getattr(value, "__wrapped__", None)
        if callable(inner) and any(map(made_in_c, kind.__mro__)):  # a decorator of C, such as functools.lru_cache
            yield tagged("wrapper", name_of(kind))
            yield from self._parts(kind, place)
            yield from self._parts(inner, place)
            yield from self._attributes(getattr(value, "__dict__", {}), place)
            return
        if kind.__module__.startswith("mindspore."):
            told = next((name for name in _CONTENTS.get(kind.__name__, ()) if hasattr(value, name)), None)
            if told is not None:
                yield tagged("type", name_of(kind))
                yield from self._parts(getattr(value, told)(), place)
                return
        if kind.__module__.startswith("mindspore._c_") and "0x" not in str(value):
            yield tagged(kind.__name__, str(value))
            return
        yield from self._parts(kind, place)
        slots = [name for base in kind.__mro__ for name in slots_of(base) if hasattr(value, name)]
        if any(map(made_in_c, kind.__mro__)):
            yield from self._reduced(value, place)
            return
        yield from self._attributes(getattr(value, "__dict__", {}), place, value)
        for name in sorted(slots):
            yield tagged("slot", name)
            yield from self._parts(getattr(value, name), f"{place}.{name}")

    def _attributes(self, values: Mapping[str, Any], place: str, of: Any = None) -> Iterator[bytes]:
        """What an object keeps, but not what it is called and its doc text.

        Args:
            of: an object of the user's, whose generators count as random only where a method draws from them.
        """
        kept = {name for name, content in values.items() if isinstance(content, GENERATORS)}
        if kept and of is not None and not self._in_package(type(of).__module__):
            self.random.update(methods_that_draw(of))
        else:
            kept = set()
        for name, content in sorted(values.items(), key=lambda pair: str(pair[0])):
            if name in _SKIPPED:
                continue
            yield tagged("attribute", str(name))
            parts = self._object if name in kept else self._parts
            yield from parts(content, f"{place}.{name}")

    def _generator(self, value: Any, place: str) -> Iterator[bytes]:
        """A generator of random numbers, where it is none of an object that does not draw from it."""
        self.random.setdefault(place, f"a {type(value).__module__}.{type(value).__qualname__}")
        yield from self._object(value, place)

    def _reduced(self, value: Any, place: str) -> Iterator[bytes]:
        """An object of C code, by what it would be rebuilt from; nothing is pickled."""
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            reduced = None
        if isinstance(reduced, str):  # a function of an extension, by its name
            yield tagged("named", f"{module_of(value)}.{reduced}")
            self._in_package(module_of(value) or type(value).__module__)
            return
        if not isinstance(reduced, tuple) or not 2 <= len(reduced) <= 6 or inspect.isgenerator(value):
            if self._tolerant:
                yield from self._by_type(value, place)
                return
            raise Unhashable(place, value)
        builder, arguments, *rest = reduced
        yield from self._parts(builder, place)
        yield from self._parts([item for item in arguments if item is not type(value)], place)
        for item in rest:
            yield from self._parts(list(item) if hasattr(item, "__next__") else item, place)


_Describe = Callable[[Digester, Any, str], Iterator[bytes]]
_FORMS: Tuple[Tuple[Any, _Describe], ...] = (
    (enum.Enum, Digester._enum),
    (types.FunctionType, Digester._function),
    (types.MethodType, Digester._method),
    (functools.partial, Digester._partial),
    (_CALLABLES, Digester._builtin),
    ((staticmethod, classmethod, property, functools.cached_property), Digester._wrapped),
    (type, Digester._class),
    (types.ModuleType, Digester._module),
    (np.ndarray, Digester._array),
    (np.generic, Digester._scalar),
    (np.dtype, Digester._repr),
    (np.ufunc, Digester._ufunc),
    (GENERATORS, Digester._generator),
    (PurePath, Digester._path),
    ((slice, range), Digester._repr),
    ((bytearray, memoryview), Digester._buffer),
    (re.Pattern, Digester._pattern),
    ((*_LOCKS, type(os.environ), threading.local), Digester._by_type),
    (logging.Logger, Digester._logger),
    (types.MappingProxyType, Digester._mapping),
)


def _exactly(kinds: Tuple[type, ...], describe: _Describe) -> _Describe:
    """For the very types only: a subclass has attributes of its own and is an object."""

    def either(digester: Digester, value: Any, place: str) -> Iterator[bytes]:
        yield from (describe if type(value) in kinds else Digester._object)(digester, value, place)

    return either


_FORMS += (
    ((list, tuple), _exactly((list, tuple), Digester._sequence)),
    ((set, frozenset), _exactly((set, frozenset), Digester._set)),
    (dict, _exactly((dict,), Digester._mapping)),
)
