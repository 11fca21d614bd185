package inputs

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/tensor"
)

// Augmentation names random changes to images.
type Augmentation struct {
	CropPadding int     // zero pixels added on each side before a random crop to the old size
	Flip        bool    // mirror left and right with probability 1/2
	Rotate      float64 // rotate by up to this many degrees, either way; pixels from outside are zero
	Brightness  float64 // multiply by 1 plus or minus up to this share
	Contrast    float64 // the same, for each pixel's distance from the mean of its channel
	Saturation  float64 // the same, for its distance from grey; images of 3 channels
	Cutout      int     // side of a square of zeros at a random place
	Seed        int64   // decides the changes to an image, with the epoch and the row
}

// Augment returns a Mapper that changes every feature of shape [height, width,
// channels] and type uint8 or float32. It fails if there is no such feature.
func Augment(a Augmentation) Mapper {
	m := columnMap{name: fmt.Sprintf("augment(%d,%t%s)", a.CropPadding, a.Flip, a.more()), seed: a.Seed}
	m.plan = func(c Column) (Column, columnFunc, error) {
		if !isImage(c) {
			return c, nil, nil
		}
		if a.CropPadding < 0 || a.CropPadding > max(c.Shape[0], c.Shape[1]) {
			return c, nil, fmt.Errorf("crop padding must lie in [0, %d], got %d", max(c.Shape[0], c.Shape[1]), a.CropPadding)
		}
		if err := a.validate(c); err != nil {
			return c, nil, err
		}
		im := image{h: c.Shape[0], w: c.Shape[1], pixel: c.Shape[2] * c.DType.Size()}
		paint := newPainter(a, c)
		c.Default = nil // data to predict is not augmented
		return c, func(dst []byte, src *tensor.Tensor, rows Rows) error {
			a.batch(im, dst, src.Bytes, rows, paint)
			return nil
		}, nil
	}
	mp := m.mapper()
	plan := mp.Schema
	mp.Schema = func(in *Schema) (*Schema, error) {
		for _, c := range in.columns {
			if isImage(c) {
				return plan(in)
			}
		}
		return nil, fmt.Errorf("no feature is an image [height, width, channels] of uint8 or float32 to augment: the data has %s", in)
	}
	return mp
}

func isImage(c Column) bool {
	return c.Role == Feature && len(c.Shape) == 3 && (c.DType == tensor.Uint8 || c.DType == tensor.Float32)
}

// image is the layout of one image: rows of pixels, pixel bytes each.
type image struct{ h, w, pixel int }

// batch changes each image of a batch.
func (a Augmentation) batch(im image, dst, src []byte, rows Rows, paint *painter) {
	size := im.h * im.w * im.pixel
	for i := 0; i*size < len(src); i++ {
		rnd := splitmix.Source(rows.Seed(i))
		dx, dy := 0, 0
		if a.CropPadding > 0 {
			dx = rnd.Intn(2*a.CropPadding+1) - a.CropPadding
			dy = rnd.Intn(2*a.CropPadding+1) - a.CropPadding
		}
		flip := a.Flip && rnd.Next()>>63 == 1
		im.shift(dst[i*size:(i+1)*size], src[i*size:(i+1)*size], dx, dy, flip)
		if paint != nil {
			paint.change(dst[i*size:(i+1)*size], &rnd)
		}
	}
}

// shift writes the image whose pixel (y, x) is src's (y+dy, x+dx), or zero outside of src.
// It mirrors the image if flip is set.
func (im image) shift(dst, src []byte, dx, dy int, flip bool) {
	stride := im.w * im.pixel
	from, to := max(0, -dx), min(im.w, im.w-dx) // columns that come from src
	for y := range im.h {
		row := dst[y*stride : (y+1)*stride]
		if y+dy < 0 || y+dy >= im.h || from >= to {
			clear(row)
			continue
		}
		line := src[(y+dy)*stride : (y+dy+1)*stride]
		clear(row[:from*im.pixel])
		copy(row[from*im.pixel:to*im.pixel], line[(from+dx)*im.pixel:])
		clear(row[to*im.pixel:])
		if flip {
			im.mirror(row)
		}
	}
}

// mirror reverses the pixels of a row.
func (im image) mirror(row []byte) {
	p := im.pixel
	var tmp [64]byte
	for l, r := 0, len(row)-p; l < r; l, r = l+p, r-p {
		for k := 0; k < p; k += len(tmp) {
			n := min(len(tmp), p-k)
			a, b := row[l+k:l+k+n], row[r+k:r+k+n]
			copy(tmp[:n], a)
			copy(a, b)
			copy(b, tmp[:n])
		}
	}
}
