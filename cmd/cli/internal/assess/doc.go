// Package assess measures how a trained model performs on labelled data, row by row: curves, calibration of probabilities,
// residuals, the worst predictions with their inputs, and the importance of each input by permutation. It reads a stream
// once, in bounded memory, and reports which numbers come from a part of the rows.
package assess
