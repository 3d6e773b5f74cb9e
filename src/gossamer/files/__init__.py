"""Files: bundles (a manifest and arrays), the safetensors format, large arrays in temporary files, and locks."""
