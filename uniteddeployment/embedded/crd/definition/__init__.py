"""CustomResourceDefinition objects: decoding, validation and conditions."""
