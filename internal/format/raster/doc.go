// Package raster decodes PNG, GIF and BMP images, and encodes PNG, with the conversions between channels and depths of TensorFlow's
// image ops. JPEG has its own package.
//
// Once the size of an image is known, an Allocate function returns memory for the pixels, or refuses. Sizes that data of its length cannot
// hold are refused before.
package raster

import "errors"

// ErrFormat says that data is no image of the expected format.
var ErrFormat = errors.New("invalid image data")

// Allocate returns memory for an image of that size, or an error. Bytes is the size of a channel: 1, or 2 for
// little-endian 16-bit numbers.
type Allocate func(height, width, channels, bytes int) ([]byte, error)
