// Package pieces splits text into the pieces of a vocabulary, and joins them again. It reads the models of SentencePiece, which
// it matches in version 0.1.96 but for the drawing of samples, and of the fast word pieces of TensorFlow Text.
package pieces
