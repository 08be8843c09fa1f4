"""What a change of code, closure, default or global does to a digest."""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mswb.inside.cached.digest import Digester, Unhashable

SCALE = 3


def digest_of(value: Any) -> tuple[str, dict[str, str]]:
    digester = Digester()
    return digester.digest(value, "it"), digester.code


def module(name: str, text: str, file: str = "") -> types.ModuleType:
    """A user's module made from a text."""
    made = types.ModuleType(name)
    made.__file__ = file or f"/home/user/{name}.py"
    sys.modules[name] = made
    exec(compile(text, made.__file__, "exec"), made.__dict__)
    return made


@pytest.fixture(autouse=True)
def forget_modules() -> Any:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def code_of(text: str) -> dict[str, str]:
    return digest_of(module("train", text).resize)[1]


BASE = "def helper(x):\n    return x * 2\ndef resize(x, size=2):\n    return helper(x) + size\n"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (BASE.replace("x * 2", "x * 3"), {"train:helper"}),
        (BASE.replace("size=2", "size=3"), {"train:resize"}),
        (BASE.replace("+ size", "- size"), {"train:resize"}),
        (BASE.replace("return x * 2", "return (lambda y: y * 2)(x)"), {"train:helper"}),
        ("# a comment\n\n" + BASE.replace("(x):\n", '(x):\n    """What it does."""\n'), set()),
        (BASE + "LEARNING_RATE = 0.1\n", set()),
    ],
    ids=["called function", "default", "body", "nested code", "comments and doc", "other global"],
)
def test_a_change_is_told_by_the_name_of_what_changed(text: str, changed: set[str]) -> None:
    before, after = code_of(BASE), code_of(text)
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_global_that_is_used_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(x: int) -> int:
        return x * SCALE

    before = digest_of(scaled)
    monkeypatch.setitem(globals(), "SCALE", 4)
    assert digest_of(scaled) != before


def test_closures_count_also_in_partials_and_methods() -> None:
    def scaled_by(factor: Any) -> Any:
        return lambda x: x * factor

    class Transform:
        def __init__(self, size: int) -> None:
            self.size = size

        def __call__(self, x: int) -> int:
            return x * self.size

    assert digest_of(scaled_by(2)) != digest_of(scaled_by(3))
    assert digest_of(scaled_by(np.zeros(3))) != digest_of(scaled_by(np.ones(3)))
    assert digest_of(functools.partial(max, 1)) != digest_of(functools.partial(max, 2))
    assert digest_of(Transform(1)) != digest_of(Transform(2))
    assert digest_of(Transform(1).__call__) != digest_of(Transform(2).__call__)
    assert digest_of(Transform(1)) == digest_of(Transform(1))
    assert digest_of(functools.lru_cache(scaled_by(2))) != digest_of(functools.lru_cache(scaled_by(3)))


def test_a_module_that_is_used_counts_by_its_source_and_what_it_imports(tmp_path: Path) -> None:
    def build(inner: str) -> dict[str, str]:
        (tmp_path / "inner.py").write_text(inner)
        (tmp_path / "helpers.py").write_text("import inner\n")
        module("inner", inner, str(tmp_path / "inner.py"))
        module("helpers", "import inner\n", str(tmp_path / "helpers.py"))
        return digest_of(module("train", "import helpers\ndef resize(x):\n    return helpers.inner.f(x)\n").resize)[1]

    before, after = build("def f(x):\n    return x\n"), build("def f(x):\n    return x + 1\n")
    assert {name for name in before if before[name] != after[name]} == {"inner"}


def test_an_import_inside_a_function_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def resize(x: int) -> int:
        import lazily_loaded  # type: ignore[import-not-found]

        return int(lazily_loaded.f(x))

    (tmp_path / "lazily_loaded.py").write_text("f = abs\n")
    before = digest_of(resize)[1]["lazily_loaded"]
    (tmp_path / "lazily_loaded.py").write_text("f = int\n")
    assert digest_of(resize)[1]["lazily_loaded"] != before


def test_of_a_module_and_of_arguments_only_what_is_used_counts() -> None:
    text = (
        "import argparse, logging, os\nimport settings\nlogger = logging.getLogger('a')\n"
        "args = argparse.Namespace(size={}, rate={})\n"
        "def resize(x):\n    logger.info(os.environ)\n    return x * args.size + settings.OFFSET\n"
    )

    def build(size: int, rate: int, settings: str) -> dict[str, str]:
        module("settings", settings)
        return digest_of(module("train", text.format(size, rate)).resize)[1]

    before = build(1, 1, "OFFSET = 1\nNAME = 'a'\n")
    assert build(1, 2, "OFFSET = 1\nNAME = 'b'\n") == before
    assert build(2, 1, "OFFSET = 1\nNAME = 'a'\n") != before
    assert build(1, 1, "OFFSET = 2\nNAME = 'a'\n") != before


def test_functions_that_call_each_other_end() -> None:
    text = "def odd(n):\n    return n and even(n - 1)\ndef even(n):\n    return not n or odd(n - 1)\n"
    made = module("parity", text)
    assert set(digest_of(made.odd)[1]) == {"parity:odd", "parity:even"}
    nested: list[Any] = []
    nested.append(nested)
    assert digest_of([nested]) == digest_of([nested])


def test_what_cannot_be_told_is_refused_by_its_place(tmp_path: Path) -> None:
    with open(tmp_path / "table", "w") as file:

        def lookup(x: int) -> int:
            return x + file.fileno()

        with pytest.raises(
            Unhashable, match=r"the closure variable 'file' of .*lookup holds a _io\.TextIOWrapper.*version="
        ):
            digest_of(lookup)
        Digester(tolerant=True).digest(lookup, "it")
    with pytest.raises(Unhashable):
        digest_of(iter([1, 2]).__class__ and (x for x in [1]))


def test_packages_count_by_their_version() -> None:
    digester = Digester()
    digester.digest(np.resize, "it")
    assert digester.packages == {"numpy": np.__version__}
    assert not digester.code


def test_a_folder_that_packages_were_installed_into_holds_no_code_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "thing-1.2.dist-info").mkdir()
    (tmp_path / "thing").mkdir()
    made = module("thing", "__version__ = '1.2'\ndef f(x):\n    return x\n", str(tmp_path / "thing/__init__.py"))
    digester = Digester()
    digester.digest(made.f, "it")
    assert (digester.packages, digester.code) == ({"thing": "1.2"}, {})


def test_random_functions_are_named() -> None:
    text = "import numpy as np\nimport random\ndef noise(x):\n    return x + {}\n"
    drawn = {
        "np.random.rand()": "numpy.random.rand",
        "random.random()": "random.random",
        "random.uniform(0, 1)": "random.uniform",
        "np.random.default_rng(x).normal()": None,
        "np.mean(x)": None,
    }
    for call, name in drawn.items():
        digester = Digester()
        digester.digest(module("train", text.format(call)).noise, "it")
        assert digester.random.get("train:noise") == name, call


def test_generators_that_are_kept_are_random_where_they_are_used() -> None:
    generator = np.random.default_rng(1)

    class Shuffled:
        def __init__(self) -> None:
            self.random = np.random.RandomState(1)
            self.order = self.random.permutation(3)

        def __getitem__(self, number: int) -> int:
            return int(self.order[number])

    class Noisy(Shuffled):
        def __getitem__(self, number: int) -> int:
            return int(self.random.randint(3))

    for value, drawn in (
        (Shuffled(), []),
        (Noisy(), ["self.random"]),
        (lambda x: generator.normal() + x, ["generator"]),
    ):
        digester = Digester()
        digester.digest(value, "it")
        assert list(digester.random.values()) == drawn


def test_random_transforms_are_named_wherever_they_are_kept() -> None:
    kind = type("RandomCrop", (), {"__module__": "mindspore.dataset.vision.transforms"})
    compose = type("Compose", (), {"__module__": "mindspore.dataset.transforms"})()
    compose.transforms = [kind()]
    for value in ({"transform": kind()}, [compose], lambda x: compose(x)):
        digester = Digester()
        digester.digest(value, "it")
        assert "RandomCrop" in digester.random.values()


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner)
    ),
    max_leaves=8,
)


def same(one: Any, other: Any) -> bool:
    """Equal with equal types, signs of zero, and orders of keys."""
    return repr(one) == repr(other)


@given(plain, plain)
def test_values_have_the_same_digest_exactly_when_they_are_the_same(one: Any, other: Any) -> None:
    assert (digest_of(one) == digest_of(other)) == same(one, other)
    assert digest_of({1, 2, 3}) == digest_of({3, 2, 1})


KEPT = """
import enum, functools, types
import numpy as np

class Wrapper:
    def __init__(self, function, k):
        functools.update_wrapper(self, function)
        self.k = k
    def __call__(self, x):
        return {0} * self.k
def plain(x):
    return x
class Kind(enum.Enum):
    A = {0}
class Code(enum.IntEnum):
    A = 1
    def twice(self):
        return {0}
@functools.wraps(np.clip)
def clipped(x):
    return x + {0}
def counted(x):
    return counted.k
counted.k = {0}
class Array(np.ndarray):
    def go(self):
        return {0}
class Partial(functools.partial):
    def __call__(self, x):
        return {0}
class Meta(type):
    def go(self):
        return {0}
class Made(metaclass=Meta):
    pass
@functools.singledispatch
def chosen(x):
    return x
@chosen.register(int)
def _(x):
    return x + {0}
class Named:
    mswb_cache_key = "given"
    k = {0}
class Hidden:
    __slots__ = ("__k",)
    def __init__(self):
        self.__k = {0}
"""


@pytest.mark.parametrize(
    "told",
    [
        "Wrapper(plain, 1)",
        "Wrapper(plain, {0})",
        "Kind.A",
        "Code.A",
        "clipped",
        "counted",
        "np.zeros(2).view(Array)",
        "Partial(plain)",
        "Made",
        "lambda: Made.go()",
        "chosen",
        "Named()",
        "Hidden()",
        "eval('lambda x: x + {0}', {{}})",
        "np.ma.array([1, 2], mask=[{0} - 1, 0])",
        "np.array([(1, 2)], [('a', 'i4'), ('b', 'i4')][:: {0} * 2 - 3])",
        "np.array([(1, 2)], [('a', 'i4'), ('b', 'i4')][:: {0} * 2 - 3])[0]",
        "types.MappingProxyType({{'a': {0}}})",
    ],
)
def test_what_is_kept_in_wrappers_classes_and_arrays_counts(told: str) -> None:
    def made(number: int) -> tuple[str, dict[str, str]]:
        space = module("train", KEPT.format(number)).__dict__
        return digest_of(eval(told.format(number), space))

    assert made(1) != made(2)
    assert made(1) == made(1)


def test_dataclasses_are_told_by_their_fields() -> None:
    text = "import dataclasses\n@dataclasses.dataclass\nclass Size:\n    a: int = {}\n"
    one, other, again = (digest_of(module("train", text.format(number)).Size()) for number in (1, 2, 1))
    assert one != other and one == again


def test_a_wrapper_of_a_package_is_followed_to_what_the_user_gave_it(tmp_path: Path) -> None:
    (tmp_path / "thing-1.2.dist-info").mkdir()
    file = tmp_path / "thing.py"
    file.write_text("def filtered(predicate, k=1):\n    return lambda *row, k=k: bool(predicate(*row)) and k\n")
    thing = module("thing", file.read_text(), str(file))

    def keep(limit: int) -> Any:
        return lambda x: x > limit

    digests = [
        digest_of(thing.filtered(keep(1))),
        digest_of(thing.filtered(keep(2))),
        digest_of(thing.filtered(lambda x: x < 1)),
        digest_of(thing.filtered(keep(1), 2)),
    ]
    assert len({digest for digest, _ in digests}) + len({str(code) for _, code in digests}) >= 5
    assert len({str(one) for one in digests}) == 4
    assert digest_of(thing.filtered(keep(1))) == digests[0]
    assert digest_of(thing.filtered) == digest_of(thing.filtered) and not digest_of(thing.filtered)[1]
    with open(tmp_path / "table", "w") as table, pytest.raises(Unhashable):
        digest_of(thing.filtered(lambda x: x > table.fileno()))


def test_a_predicate_that_asks_a_generator_is_random() -> None:
    text = "import functools\ndef keep(x, rng):\n    return rng.random() < x\n"
    made = module("train", text)
    for value in (functools.partial(made.keep, rng=np.random.default_rng(0)), [np.random.RandomState(0)]):
        digester = Digester()
        digester.digest(value, "the predicate")
        assert len(digester.random) == 1


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("np.random.default_rng().normal()", "default_rng() without a seed"),
        ("np.random.default_rng(None).normal()", "default_rng() without a seed"),
        ("np.random.RandomState().rand()", "RandomState() without a seed"),
        ("random.Random().random()", "Random() without a seed"),
        ("random.Random(x).random()", None),
    ],
)
def test_a_generator_without_a_seed_is_random(call: str, named: str | None) -> None:
    digester = Digester()
    digester.digest(module("train", f"import numpy as np\nimport random\ndef f(x):\n    return {call}\n").f, "it")
    assert digester.random.get("train:f") == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("K = 1\ndef f(x):\n    return globals()['K']\n", r"train:f calls globals\(\).*version='1'"),
        ("import numpy as np\nf = np.frompyfunc(lambda x: x + 1, 1, 1)\n", r"it holds a numpy\.ufunc"),
    ],
)
def test_what_hides_its_content_is_refused(text: str, named: str) -> None:
    made = module("train", text)
    with pytest.raises(Unhashable, match=named):
        digest_of(made.f)
    Digester(tolerant=True).digest(made.f, "it")
