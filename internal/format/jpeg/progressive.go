package jpeg

// decoder returns the function that decodes a block of this scan.
func (s *scan) decoder() func(c *component, block *[64]int16) {
	switch {
	case !s.Progressive:
		return s.baseline
	case s.start == 0 && s.high == 0:
		return s.firstDC
	case s.start == 0:
		return s.nextDC
	case s.high == 0:
		return s.firstAC
	}
	return s.nextAC
}

func (s *scan) firstDC(c *component, block *[64]int16) {
	if size := int(s.symbol(c.dc) & 15); size > 0 {
		c.last += extend(s.take(size), size)
	}
	block[0] = int16(c.last << s.low)
}

func (s *scan) nextDC(_ *component, block *[64]int16) {
	block[0] |= int16(s.take(1) << s.low)
}

func (s *scan) firstAC(c *component, block *[64]int16) {
	if s.ends > 0 {
		s.ends--
		return
	}
	for k := s.start; k <= s.end; k++ {
		e, run, v := s.coefficient(c.ac)
		if e {
			if run < 15 {
				s.ends = s.run(run) - 1
				break
			}
			k += 15
			continue
		}
		k += run
		block[natural[k]&63] = int16(v << s.low)
	}
}

// coefficient reads a code; empty means that it has no coefficient.
func (s *scan) coefficient(h *huffman) (empty bool, run int, v int32) {
	if s.n < 32 {
		s.refill()
	}
	if e := h.fast[s.acc>>(64-look)]; e&direct != 0 {
		s.acc <<= e & 31
		s.n -= int(e & 31)
		return false, int(e >> 8 & 15), int32(int16(e >> 16))
	}
	symbol := s.symbol(h)
	run = int(symbol >> 4)
	size := int(symbol & 15)
	if size == 0 {
		return true, run, 0
	}
	return false, run, extend(s.take(size), size)
}

// run returns the length of a run of blocks without further coefficients.
func (s *scan) run(bits int) int {
	n := 1 << bits
	if bits > 0 {
		n += int(s.take(bits))
	}
	return n
}

// nextAC reads one more bit of known coefficients, and those that become nonzero with this bit.
func (s *scan) nextAC(c *component, block *[64]int16) {
	k, bit := s.start, int16(1)<<s.low
	for k <= s.end && s.ends == 0 {
		// A direct entry includes the size; sizes other than 1 are damaged data.
		empty, run, v := s.coefficient(c.ac)
		var fresh int16
		switch {
		case empty && run < 15:
			s.ends = s.run(run)
			continue
		case !empty && v > 0:
			fresh = bit
		case !empty:
			fresh = -bit
		}
		k = s.refine(block, k, run, bit)
		if fresh != 0 && k <= s.end {
			block[natural[k]&63] = fresh
		}
		k++
	}
	if s.ends > 0 {
		s.refine(block, k, 64, bit)
		s.ends--
	}
}

// refine reads a bit for each nonzero coefficient from k on, until it has passed the given number of zeros. It returns the index of the next
// zero.
func (s *scan) refine(block *[64]int16, k, zeros int, bit int16) int {
	for ; k <= s.end; k++ {
		p := &block[natural[k]&63]
		if *p == 0 {
			if zeros == 0 {
				break
			}
			zeros--
			continue
		}
		if s.take(1) != 0 && *p&bit == 0 {
			if *p > 0 {
				*p += bit
			} else {
				*p -= bit
			}
		}
	}
	return k
}
