"""Runs MindIR files with the user's MindSpore: one request a line on stdin, one answer a line on the given descriptor.

A request is {"model": FILE, "inputs": NPZ, "outputs": NPZ}: inputs are arrays named 0, 1, ... in the order of the
graph's, and so are the outputs. An answer is {"outputs": COUNT} or {"error": TEXT}. A model that crashes MindSpore ends
this process, which is how the other side knows. Standard library, numpy and mindspore only; Python 3.9.
"""

import json
import os
import sys
from typing import Any, Dict, Iterator, TextIO


def main() -> None:
    """Serve until stdin ends."""
    answers = os.fdopen(int(sys.argv[1]), "w")
    import mindspore
    import numpy

    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target=sys.argv[2])
    _say(answers, {"ready": mindspore.__version__})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: Dict[str, Any] = {"outputs": _run(mindspore, numpy, request)}
        except Exception as problem:  # whatever MindSpore raises is the answer
            answer = {"error": "{}: {}".format(type(problem).__name__, problem)}
        _say(answers, answer)


def _say(answers: TextIO, answer: Dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _run(mindspore: Any, numpy: Any, request: Dict[str, str]) -> int:
    with numpy.load(request["inputs"], allow_pickle=False) as given:
        inputs = [mindspore.Tensor(given[str(at)]) for at in range(len(given.files))]
    network = mindspore.nn.GraphCell(mindspore.load(request["model"]))
    found = list(_flat(network(*inputs)))
    arrays = {str(at): _array(numpy, one) for at, one in enumerate(found)}
    numpy.savez(request["outputs"], **arrays)
    return len(found)


def _flat(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from _flat(one)
    else:
        yield result


def _array(numpy: Any, one: Any) -> Any:
    return one.asnumpy() if hasattr(one, "asnumpy") else numpy.asarray(one)


if __name__ == "__main__":
    main()
