// Package safetensors reads the safetensors format, in which Hugging Face stores weights:
// the length of a header (uint64, little-endian), the header as JSON, and the elements of
// all tensors without gaps. Source: the format's description in its repository.
package safetensors
