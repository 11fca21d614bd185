package kernels

// im2col writes the patches under the output pixels [from, to), counted over the whole batch, to the rows of col, each
// [KH, KW, InC]; what lies outside the image is zero.
func im2col[T Float](g *Window, col, x []T, from, to int) {
	for p := from; p < to; p++ {
		n, oh, ow := g.position(p)
		image := x[n*g.InH*g.InW*g.InC:][:g.InH*g.InW*g.InC]
		h, w := oh*g.StrideH-g.PadTop, ow*g.StrideW-g.PadLeft
		row := g.KW * g.InC
		for range g.KH {
			if h < 0 || h >= g.InH {
				Fill(col[:row], 0)
			} else {
				gatherRow(g, col[:row], image[h*g.InW*g.InC:(h+1)*g.InW*g.InC], w)
			}
			col = col[row:]
			h += g.DilH
		}
	}
}

// position splits an output pixel's number into image, row and column.
func (w *Window) position(p int) (n, oh, ow int) {
	image := w.OutH * w.OutW
	return p / image, p % image / w.OutW, p % w.OutW
}

// gatherRow copies KW pixels of one image row, DilW apart from column w on.
func gatherRow[T Float](g *Window, dst, line []T, w int) {
	if g.DilW == 1 && w >= 0 && w+g.KW <= g.InW {
		copyRun(dst, line[w*g.InC:])
		return
	}
	for range g.KW {
		if w < 0 || w >= g.InW {
			Fill(dst[:g.InC], 0)
		} else {
			copyRun(dst[:g.InC], line[w*g.InC:])
		}
		dst = dst[g.InC:]
		w += g.DilW
	}
}

// copyRun copies len(dst) elements; short runs are not worth a call.
func copyRun[T Float](dst, src []T) {
	if len(dst) > 8 {
		copy(dst, src)
		return
	}
	src = src[:len(dst)]
	for i, v := range src {
		dst[i] = v
	}
}

// col2im adds the rows of col, one for each output pixel in [from, to), to the patches of x that they came from.
func col2im[T Float](g *Window, x, col []T, from, to int) {
	for p := from; p < to; p++ {
		n, oh, ow := g.position(p)
		image := x[n*g.InH*g.InW*g.InC:][:g.InH*g.InW*g.InC]
		h := oh*g.StrideH - g.PadTop
		for range g.KH {
			w := ow*g.StrideW - g.PadLeft
			for range g.KW {
				if h >= 0 && h < g.InH && w >= 0 && w < g.InW {
					d := image[(h*g.InW+w)*g.InC:][:g.InC]
					binaryRange(Add, d, d, col[:g.InC])
				}
				col = col[g.InC:]
				w += g.DilW
			}
			h += g.DilH
		}
	}
}
