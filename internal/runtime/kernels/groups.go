package kernels

// split returns the number of groups of channels.
func (w *Window) split() int { return max(1, w.Groups) }

// groupIn and groupOut are the numbers of a group's channels.
func (w *Window) groupIn() int  { return w.InC / w.split() }
func (w *Window) groupOut() int { return w.OutC / w.split() }

// MostMerged is the most narrow groups that are computed as one: the elements of a vector. Their filter takes that many times the memory.
const MostMerged = 16

// merged returns a convolution with fewer, wider groups, whose results fill a vector, and the number of narrow groups in each. The
// merged filter has zeros between channels of different groups. They cost nothing, as a part of a vector costs as much as a whole.
func merged[T Float](g Window) (wide Window, each int) {
	lanes, most := min(tilesFor[T](ActiveLevel()).lanes, MostMerged), 1
	for m := 2; m*g.groupOut() <= lanes && m <= g.Groups; m++ {
		if g.Groups%m == 0 {
			most = m
		}
	}
	wide = g
	wide.Groups /= most
	return wide, most
}

// inGroups computes a convolution of more than one group by merging groups or as plain products. It returns false if neither fits.
func inGroups[T Float](g Window, y, x, w, bias []T, relu bool) bool {
	if wide, each := merged[T](g); each > 1 {
		s := scratches[T]().get()
		filter := s.take(wide.weights())
		spreadGroups(wide, filter, w, each)
		Conv2D(wide, y, x, filter, bias, relu)
		scratches[T]().put(s)
		return true
	}
	if !g.pixelwise() || g.outSize() == 0 {
		return g.outSize() == 0
	}
	in, out := g.groupIn(), g.groupOut()
	for i := range g.Groups {
		a := GemmArgs[T]{M: g.pixels(), N: out, K: in, Alpha: 1, A: x[i*in:], LDA: g.InC, B: w[i*out:], LDB: g.OutC, C: y[i*out:], LDC: g.OutC, Relu: relu}
		if bias != nil {
			a.Bias = bias[i*out:][:out]
		}
		Gemm(a)
	}
	return true
}

// pixelwise reports whether each group is a plain product.
func (w *Window) pixelwise() bool {
	one := *w
	one.Groups = 1
	return one.pointwise()
}

// inputGradInGroups is inGroups for the gradient of the images.
func inputGradInGroups[T Float](g Window, dx, dy, w []T) bool {
	wide, each := merged[T](g)
	if each == 1 {
		return false
	}
	s := scratches[T]().get()
	filter := s.take(wide.weights())
	spreadGroups(wide, filter, w, each)
	Conv2DInputGrad(wide, dx, dy, filter)
	scratches[T]().put(s)
	return true
}

// filterGradInGroups is inGroups for the gradient of the filter.
func filterGradInGroups[T Float](g Window, dw, x, dy []T) bool {
	wide, each := merged[T](g)
	if each == 1 {
		return false
	}
	s := scratches[T]().get()
	sums := s.take(wide.weights())
	Conv2DFilterGrad(wide, sums, x, dy)
	in, out := g.groupIn(), g.groupOut()
	for i := range g.KH * g.KW * in {
		for j := range g.Groups {
			copyRun(dw[i*g.OutC+j*out:][:out], sums[wideRow(i, in, j, each)*g.OutC+j*out:])
		}
	}
	scratches[T]().put(s)
	return true
}

// spreadGroups writes the filter w of narrow groups as the filter of wide ones, which merge each narrow ones.
func spreadGroups[T Float](wide Window, dst, w []T, each int) {
	clear(dst)
	in, out, groups := wide.groupIn()/each, wide.groupOut()/each, wide.Groups*each
	for i := range wide.KH * wide.KW * in {
		for j := range groups {
			copyRun(dst[wideRow(i, in, j, each)*wide.OutC+j*out:][:out], w[i*wide.OutC+j*out:])
		}
	}
}

// wideRow returns the row of a wide filter that has row i of the narrow filter, with in channels per group, for group j.
func wideRow(i, in, j, each int) int { return i/in*in*each + j%each*in + i%in }

// past returns x from element at on, or nothing if x is shorter.
func past[T Float](x []T, at int) []T { return x[min(at, len(x)):] }
