package jpeg

import "sync"

// space is the memory for decoding an image, without its pixels. It is reused, since most images have about the same size.
type space struct {
	coefs  []int16
	planes []byte
}

// keptSpace is the most bytes kept for the next image.
const keptSpace = 16 << 20

var spaces = sync.Pool{New: func() any { return &space{} }}

func takeSpace() *space { return spaces.Get().(*space) }

// grow makes room for coefficients and bytes of planes. They still have values of an earlier image.
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
