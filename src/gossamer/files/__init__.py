"""Arrays and locks as files: bundles (a manifest and arrays), the safetensors format, and a lock file."""
