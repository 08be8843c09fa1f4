"""Whole networks in ONNX, all with dimensions that are open: in the forms that exporters write, made of noise."""

from __future__ import annotations

from collections.abc import Mapping

from tests.models import loops, sequences, text, vision
from tests.models.net import Model

ALL: Mapping[str, Model] = {**vision.MODELS, **text.MODELS, **sequences.MODELS, **loops.MODELS}
