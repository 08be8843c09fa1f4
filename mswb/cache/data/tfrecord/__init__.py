"""TFRecord files: frames with checksums, one after another."""
