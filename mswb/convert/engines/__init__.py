"""What runs a model: MindSpore in a child process, onnxruntime, ONNX's reference evaluator, our own in float64."""
