package kernels

// im2col writes the patches of a group of channels under the output pixels [from, to), counted over the whole batch, to the
// rows of col, each [KH, KW, InC/Groups], ld elements apart. Elements outside of the image are zero.
func im2col[T Float](g *Window, col []T, ld int, x []T, from, to, group int) {
	in := g.groupIn()
	for p := from; p < to; {
		n, oh, ow := g.position(p)
		count := min(to-p, g.OutW-ow) // the rest of this row of the output
		image := x[n*g.InH*g.InW*g.InC:][:g.InH*g.InW*g.InC]
		for kh := range g.KH {
			h := oh*g.StrideH - g.PadTop + kh*g.DilH
			dst := col[(p-from)*ld+kh*g.KW*in:]
			if h < 0 || h >= g.InH {
				zeroRuns(dst, g.KW*in, ld, count)
				continue
			}
			gatherLine(g, dst, ld, past(image[h*g.InW*g.InC:(h+1)*g.InW*g.InC], group*in), ow, count)
		}
		p += count
	}
}

// position splits an output pixel's number into image, row and column.
func (w *Window) position(p int) (n, oh, ow int) {
	image := w.OutH * w.OutW
	return p / image, p % image / w.OutW, p % w.OutW
}

// zeroRuns clears count runs of the given length, stride elements apart.
func zeroRuns[T Float](dst []T, length, stride, count int) {
	for i := range count {
		clear(dst[i*stride:][:length])
	}
}

// gatherLine copies the KW pixels of an image line under each of count output pixels, from column ow on. The runs are ld
// elements apart in dst.
func gatherLine[T Float](g *Window, dst []T, ld int, line []T, ow, count int) {
	length := g.KW * g.groupIn()
	for i := range count {
		run := dst[i*ld:][:length]
		w := (ow+i)*g.StrideW - g.PadLeft
		if g.DilW == 1 && g.Groups < 2 && w >= 0 && w+g.KW <= g.InW {
			copyRun(run, line[w*g.InC:])
			continue
		}
		gatherPixels(g, run, line, w)
	}
}

// gatherPixels copies KW pixels, DilW apart, from column w on.
func gatherPixels[T Float](g *Window, dst, line []T, w int) {
	in := g.groupIn()
	for range g.KW {
		if w < 0 || w >= g.InW {
			clear(dst[:in])
		} else {
			copyRun(dst[:in], line[w*g.InC:])
		}
		dst = dst[in:]
		w += g.DilW
	}
}

// copyRun copies len(dst) elements. Short runs are not worth a call.
func copyRun[T Float](dst, src []T) {
	if len(dst) > 8 {
		copy(dst, src)
		return
	}
	src = src[:len(dst)]
	for i, v := range src { //nolint:staticcheck // a call of copy costs more
		dst[i] = v
	}
}

// col2im adds the rows of col, one for each output pixel in [from, to), to their patches in x, whose x[0] is the group's
// first channel. ones has a 1 for each channel of the group.
func col2im[T Float](g *Window, x, col, ones []T, from, to int) {
	for p := from; p < to; {
		n, oh, ow := g.position(p)
		end := min(g.OutW, ow+to-p) // end of this row of the output
		rows := col[(p-from)*g.patch():]
		for kh := range g.KH {
			h := oh*g.StrideH - g.PadTop + kh*g.DilH
			if h < 0 || h >= g.InH {
				continue
			}
			for kw := range g.KW {
				first, last := g.columns(kw)
				first, last = max(first, ow), min(last, end)
				if first >= last {
					continue
				}
				w := first*g.StrideW - g.PadLeft + kw*g.DilW
				mulAddPixels(x[((n*g.InH+h)*g.InW+w)*g.InC:], g.StrideW*g.InC,
					rows[(first-ow)*g.patch()+(kh*g.KW+kw)*len(ones):], g.patch(), ones, last-first)
			}
		}
		p += end - ow
	}
}
