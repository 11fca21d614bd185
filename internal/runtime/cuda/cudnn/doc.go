// Package cudnn does convolutions by the backend API of cuDNN 9, found at run time (also where Python packages keep it).
//
// A convolution becomes a graph of one operation, or of three with a bias and relu behind it. cuDNN's heuristics propose
// engines for it; the first whose plan can be made, whose workspace is not too large, that gives the same bits from run to
// run, and that rounds no more than the precision allows, is taken. Plans are kept by problem. What cuDNN has no such
// engine for, own kernels do.
//
// cuDNN takes a filter as [outC, h, w, inC], TensorFlow has [h, w, inC, outC]: a small kernel turns it into the workspace
// before each convolution, and gradients back behind it. Engines want equal padding on both sides, which TensorFlow's SAME
// is not for even sizes with a stride: then the filter gets taps of zeros at the side that has less.
package cudnn
