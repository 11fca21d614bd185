package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// boxColours are the default colors of boxes, used in turn: red, green, blue and opacity.
var boxColours = [][]float32{
	{1, 1, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {0.5, 0, 0.5, 1}, {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1},
}

// drawBoxes draws the edges of boxes, one pixel wide.
func drawBoxes(*site) (kernel, error) {
	return func(c call) error {
		images, boxes := c.t(0), c.t(1)
		if images.DType != tensor.Float32 || len(images.Shape) != 4 {
			return fmt.Errorf("The rank of the images should be 4, got shape %v", images.Shape)
		}
		depth := images.Shape[3]
		if depth != 1 && depth != 3 && depth != 4 {
			return fmt.Errorf("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got %d", depth)
		}
		if boxes.DType != tensor.Float32 || len(boxes.Shape) != 3 || boxes.Shape[0] != images.Shape[0] || boxes.Shape[2] != 4 {
			return fmt.Errorf("boxes: expected shape [%d n 4], got %v", images.Shape[0], boxes.Shape)
		}
		colours, err := c.boxColours(depth)
		if err != nil {
			return err
		}
		dst, err := outputOf[float32](c, 0, images.Shape...)
		if err != nil || len(dst) == 0 {
			return err
		}
		copy(dst, tensor.Values[float32](images))
		p := canvas{h: images.Shape[1], w: images.Shape[2], depth: depth}
		corners, n := tensor.Values[float32](boxes), boxes.Shape[1]
		for i := range images.Shape[0] {
			p.pixels = dst[i*p.h*p.w*depth:]
			for k := range n {
				if k%64 == 0 && c.ctx.Err() != nil {
					return c.ctx.Err()
				}
				p.box([4]float32(corners[(i*n+k)*4:]), colours[k%len(colours)])
			}
		}
		return nil
	}, nil
}

// boxColours returns the colors in input 2, with at least as many channels as the images, or the default ones.
// Boxes in images of one channel are white.
func (c call) boxColours(depth int) ([][]float32, error) {
	colours := boxColours
	if len(c.in) > 2 {
		t := c.t(2)
		if t.DType != tensor.Float32 || len(t.Shape) != 2 {
			return nil, fmt.Errorf("colors must be a 2-D matrix, got shape %v", t.Shape)
		}
		if t.Shape[1] < depth {
			return nil, fmt.Errorf("colors must have equal or more channels than the image provided: %s", shapeText(t.Shape))
		}
		if t.Shape[0] > 0 {
			if err := c.room(t.Shape[0], tensorHeader); err != nil {
				return nil, err
			}
			colours = make([][]float32, t.Shape[0])
			for i := range colours {
				colours[i] = tensor.Values[float32](t)[i*t.Shape[1]:]
			}
			return colours, nil
		}
	}
	if depth == 1 {
		return [][]float32{{1}}, nil
	}
	return colours, nil
}

// canvas is an image to draw on.
type canvas struct {
	h, w, depth int
	pixels      []float32
}

// box draws a box given by its normalized corners: top, left, bottom, right. It skips an inverted box, or one outside the image.
func (p *canvas) box(b [4]float32, colour []float32) {
	const far = 1e12 // times the image's size
	for _, v := range b {
		if !(v > -far && v < far) {
			return
		}
	}
	top, bottom := int(b[0]*float32(p.h-1)), int(b[2]*float32(p.h-1))
	left, right := int(b[1]*float32(p.w-1)), int(b[3]*float32(p.w-1))
	if top > bottom || left > right || top >= p.h || bottom < 0 || left >= p.w || right < 0 {
		return
	}
	fromRow, toRow := max(top, 0), min(bottom, p.h-1)
	fromCol, toCol := max(left, 0), min(right, p.w-1)
	for _, y := range [2]int{top, bottom} {
		for x := fromCol; x <= toCol && y >= 0 && y < p.h; x++ {
			p.dot(y, x, colour)
		}
	}
	for _, x := range [2]int{left, right} {
		for y := fromRow; y <= toRow && x >= 0 && x < p.w; y++ {
			p.dot(y, x, colour)
		}
	}
}

func (p *canvas) dot(y, x int, colour []float32) {
	copy(p.pixels[(y*p.w+x)*p.depth:][:p.depth], colour)
}
