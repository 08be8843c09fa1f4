"""ONNX files: read, checked, built, written."""
