// Package convert changes the types of elements, as the op Cast does, and reads int32 and
// int64 tensors as ints.
package convert
