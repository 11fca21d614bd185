// Package jpeg decodes and encodes JPEG bit for bit like libjpeg-turbo, which TensorFlow's image ops use: with the same inverse transforms,
// colour interpolation and conversions. It decodes 8-bit images with Huffman codes, in one pass or
// progressive.
//
// Memory that an image claims is reserved before it is allocated (Options.Reserve), and images that claim far more pixels than their
// bytes can hold are refused.
package jpeg
