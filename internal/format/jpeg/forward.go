package jpeg

// forward is the accurate cosine transform of a block, in place; its coefficients are 8 times too large.
func forward(w *[64]int32) {
	for y := range 8 {
		forwardLine(w[8*y:], 1, -between, fraction-between)
	}
	for x := range 8 {
		forwardLine(w[x:], 8, between, fraction+between)
	}
}

// forwardLine transforms 8 numbers that are step apart. It drops sums bits of plain sums, and n bits of the others.
func forwardLine(w []int32, step, sums, n int) {
	at := func(i int) int32 { return w[i*step] }
	plain := func(v int32) int32 {
		if sums < 0 {
			return v << -sums
		}
		return down(v, sums)
	}
	var a, b [4]int32
	for i := range 4 {
		a[i], b[i] = at(i)+at(7-i), at(i)-at(7-i)
	}
	t10, t13, t11, t12 := a[0]+a[3], a[0]-a[3], a[1]+a[2], a[1]-a[2]
	w[0], w[4*step] = plain(t10+t11), plain(t10-t11)
	z := (t12 + t13) * 4433
	w[2*step], w[6*step] = down(z+t13*6270, n), down(z-t12*15137, n)
	t4, t5, t6, t7 := b[3], b[2], b[1], b[0]
	z1, z2, z3, z4 := t4+t7, t5+t6, t4+t6, t5+t7
	z5 := (z3 + z4) * 9633
	z1, z2, z3, z4 = -z1*7373, -z2*20995, -z3*16069+z5, -z4*3196+z5
	w[7*step], w[5*step] = down(t4*2446+z1+z3, n), down(t5*16819+z2+z4, n)
	w[3*step], w[step] = down(t6*25172+z2+z3, n), down(t7*12299+z1+z4, n)
}

// quantize divides the coefficients of forward by a table, rounding to nearest.
func quantize(w *[64]int32, table *[64]uint16) (q [64]int16) {
	for i, v := range w {
		d := int32(table[i]) * 8
		if v < 0 {
			q[i] = int16(-((-v + d/2) / d))
		} else {
			q[i] = int16((v + d/2) / d)
		}
	}
	return q
}
