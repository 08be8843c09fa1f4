"""``dataset.cache(cache_size=1024, name="imagenet_train")`` as a method of every MindSpore dataset."""

from __future__ import annotations

from typing import Any, Optional

_OWN = "cache"


class CacheMethod:
    """What stands for the attribute ``cache`` of MindSpore's Dataset class.

    MindSpore keeps a DatasetCache (or None) in an attribute of that name and asks whether it is true; so what is read
    here is callable, true only where a DatasetCache is set, and passes everything else on to it.
    """

    def __get__(self, dataset: Any, owner: Optional[type] = None) -> Any:
        return self if dataset is None else BoundCache(dataset, dataset.__dict__.get(_OWN))

    def __set__(self, dataset: Any, value: Any) -> None:
        dataset.__dict__[_OWN] = value.native if isinstance(value, BoundCache) else value

    def __call__(self, dataset: Any, *arguments: Any, **named: Any) -> Any:
        """``Dataset.cache(dataset, ...)``."""
        return BoundCache(dataset, None)(*arguments, **named)


class BoundCache:
    """``dataset.cache``: call it to cache the dataset; see :func:`mswb.inside.cached.cached` for the options."""

    def __init__(self, dataset: Any, native: Any) -> None:
        self._dataset = dataset
        self.native = native

    def __bool__(self) -> bool:
        return self.native is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)

    def __call__(self, cache_size: int = 1024, name: str = "", **options: Any) -> Any:
        """The dataset over its cache.

        Args:
            cache_size: MB that the cache may take.
            name: what the cache commands call it; needed.
        """
        if not name:
            raise TypeError("cache() needs a name: dataset.cache(cache_size=1024, name='train')")
        from .api import cached

        return cached(self._dataset, name, cache_size, **options)


def patch(module: Any = None) -> None:
    """Give MindSpore's datasets the method ``cache``; once or several times.

    Args:
        module: ``mindspore.dataset.engine.datasets``; imported when it is not given.
    """
    if module is None:
        from importlib import import_module

        module = import_module("mindspore.dataset.engine.datasets")
    if not isinstance(module.Dataset.__dict__.get(_OWN), CacheMethod):
        module.Dataset.cache = CacheMethod()
