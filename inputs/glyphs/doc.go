// Package glyphs draws hand-written-looking digits: grey 28x28 images of the ten
// classes 0 to 9, made of strokes under a random affine map, with random stroke
// width, ink, wobble and noise. An image depends only on a seed and its index, so
// the set is endless, needs no file and has random access.
package glyphs
