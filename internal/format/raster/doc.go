// Package raster decodes PNG, GIF and BMP images, and encodes PNG, with the conversions between channels and depths that TensorFlow's
// image ops make. JPEG has a package of its own.
//
// An Allocate function is asked for the pixels once their size is known, and may refuse. What data of their length cannot hold is
// refused before.
package raster

import "errors"

// ErrFormat says that data are no image of the kind.
var ErrFormat = errors.New("invalid image data")

// Allocate returns room for an image of that size, or why there is none. Bytes is the size of a channel: 1, or 2 for
// numbers of 16 bits, little-endian.
type Allocate func(height, width, channels, bytes int) ([]byte, error)
