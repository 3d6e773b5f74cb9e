"""Files: bundles (a manifest and arrays), the safetensors format, and locks."""
