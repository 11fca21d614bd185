package jpeg

// transform computes the coefficients of all components.
func (w *encoder) transform(pixels []byte) error {
	side := 1
	if w.Downsample && w.Channels == 3 {
		side = 2
	}
	unitsWide, unitsHigh := ceil(w.Width, 8*side), ceil(w.Height, 8*side)
	for i := range w.Channels {
		p := part{side: 1, class: min(i, 1)}
		if i == 0 {
			p.side = side
		}
		shrink := side / p.side
		p.perLine = unitsWide * p.side
		p.wide, p.high = ceil(ceil(w.Width, shrink), 8), ceil(ceil(w.Height, shrink), 8)
		p.blocks = make([][64]int16, p.perLine*unitsHigh*p.side)
		for k := range p.blocks {
			if w.Interrupted != nil && k%p.perLine == 0 {
				if err := w.Interrupted(); err != nil {
					return err
				}
			}
			p.blocks[k] = w.coefs(pixels, i, k%p.perLine*8, k/p.perLine*8, shrink)
		}
		w.parts = append(w.parts, p)
	}
	return nil
}

// coefs computes the coefficients of a block at (x, y) of a component's plane. Beyond the image, the last pixels repeat.
func (w *encoder) coefs(pixels []byte, channel, x, y, shrink int) [64]int16 {
	var block [64]int32
	at := func(x, y int) int32 {
		x, y = min(x, w.Width-1), min(y, w.Height-1)
		return w.sample(pixels[(y*w.Width+x)*w.Channels:], channel)
	}
	for i := range block {
		px, py := x+i%8, y+i/8
		if shrink == 1 {
			block[i] = at(px, py) - 128
			continue
		}
		px, py = 2*px, 2*min(py, (w.Height-1)/2)
		sum := at(px, py) + at(px+1, py) + at(px, py+1) + at(px+1, py+1)
		block[i] = (sum+1+int32(i%2))>>2 - 128
	}
	forward(&block)
	return quantize(&block, &w.quant[min(channel, 1)])
}

// sample returns a component of a pixel.
func (w *encoder) sample(p []byte, channel int) int32 {
	if w.Channels == 1 {
		return int32(p[0])
	}
	r, g, b := int32(p[0]), int32(p[1]), int32(p[2])
	switch channel {
	case 0:
		return (19595*r + 38470*g + 7471*b + 1<<15) >> 16
	case 1:
		return (-11059*r - 21709*g + 32768*b + 128<<16 + 1<<15 - 1) >> 16
	}
	return (32768*r - 27439*g - 5329*b + 128<<16 + 1<<15 - 1) >> 16
}
