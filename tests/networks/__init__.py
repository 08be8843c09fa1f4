"""Small networks that real MindSpore exports, with inputs and MindSpore's own outputs: what MindIR → ONNX is judged by.

``catalogue`` says what a network is; the other modules define them and import MindSpore, so only ``export``, which runs
as a child process, may import these.
"""
