// Package pieces splits texts into the pieces of a vocabulary, and joins them again: by models of SentencePiece, as its version 0.1.96
// does, which draws no samples here, and by models of the fast word pieces of TensorFlow Text.
package pieces
