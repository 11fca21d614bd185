// Package jpeg decodes and encodes JPEG as libjpeg-turbo does, on which TensorFlow's image ops stand: the same inverse transforms,
// interpolation of colours and conversions, to the bit. It decodes images of 8 bits with Huffman codes, in one pass or
// progressive.
//
// What an image announces is paid for before it is allocated (Options.Reserve), and images that announce far more pixels than their
// bytes can hold are refused.
package jpeg
