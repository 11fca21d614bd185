// Package sampling draws the next token of a text from its logits: in Go, and as TensorFlow's ops in an exported graph.
//
// Both draw the same random number for a seed and a position, from a stateless hash. So a text comes out the same whether it is
// generated in parts or at once, and the rows of a batch do not depend on each other. Probabilities are float32 in both; the tokens
// differ only if a number falls between two sums that differ in their last bits.
package sampling
