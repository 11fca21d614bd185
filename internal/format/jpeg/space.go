package jpeg

import "sync"

// space is what the decoding of an image needs besides its pixels. It goes from image to image, since most have about the same size.
type space struct {
	coefs  []int16
	planes []byte
}

// keptSpace is the most bytes that are kept for the next image.
const keptSpace = 16 << 20

var spaces = sync.Pool{New: func() any { return &space{} }}

func takeSpace() *space { return spaces.Get().(*space) }

// grow makes room for so many coefficients and bytes of planes. They hold what an image before has left.
func (s *space) grow(coefs, planes int) {
	if cap(s.coefs) < coefs {
		s.coefs = make([]int16, coefs)
	}
	if cap(s.planes) < planes {
		s.planes = make([]byte, planes)
	}
	s.coefs, s.planes = s.coefs[:coefs], s.planes[:planes]
}

func (s *space) giveBack() {
	if 2*cap(s.coefs)+cap(s.planes) <= keptSpace {
		spaces.Put(s)
	}
}
