// Package assess says what a trained model does on data with labels, row by row: curves of its probabilities, calibration,
// residuals, the worst predictions with their inputs, and the importance of each input by permutation. It reads a stream
// once, in bounded memory, and tells where its numbers are of a part of the rows.
package assess
