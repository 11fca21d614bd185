// Package cudnn does convolutions with the backend API of cuDNN 9, found at run time (also in Python packages).
//
// A convolution becomes a graph of one operation, or of three with a bias and relu after it. cuDNN's heuristics propose
// engines for it. The package takes the first engine whose plan can be made, whose workspace is not too large, that gives the
// same bits from run to run, and that rounds no more than the precision allows. Plans are kept by problem. Own kernels do
// convolutions for which cuDNN has no such engine.
//
// cuDNN takes a filter as [outC, h, w, inC], TensorFlow has [h, w, inC, outC]. A small kernel transposes it into the workspace
// before each convolution, and transposes gradients back after it. Engines want equal padding on both sides, but TensorFlow's
// SAME padding differs for even sizes with a stride. Then the filter gets taps of zeros at the side with less padding.
package cudnn
