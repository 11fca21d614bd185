// Package sampling draws the next token of a text by its logits: in Go, and as TensorFlow's ops in the graph of an export.
//
// Both draw the same number for a seed and a position, from a hash that needs no state: a text that is written in parts is the text
// that is written at once, and rows of a batch do not depend on each other. Probabilities are float32 in both; where two sums differ in their
// last bits, and the number lies between, the tokens differ.
package sampling
