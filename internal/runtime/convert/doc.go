// Package convert changes the types of elements, as the operation Cast does, and reads
// integers of either width.
package convert
