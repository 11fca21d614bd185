package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// pairProduct matches the stand-in for VDPBF16PS, the AVX512_BF16 instruction that neither avo nor Go's assembler has. The
// generator writes VPDPWSSD, whose encoding differs only by the prefix 66 instead of F3.
var pairProduct = regexp.MustCompile(`VPDPWSSD +Z(\d+), Z(\d+), Z(\d+)`)

// encode replaces the stand-ins in an assembly file by the bytes of VDPBF16PS.
func encode(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out := pairProduct.ReplaceAllFunc(text, func(line []byte) []byte {
		var r [3]int
		for i, s := range pairProduct.FindSubmatch(line)[1:] {
			r[i], _ = strconv.Atoi(string(s))
		}
		return fmt.Appendf(nil, "LONG $0x%08x; WORD $0x%04x // VDPBF16PS Z%d, Z%d, Z%d", pairHead(r[0], r[1], r[2]), 0xc052|r[2]&7<<11|r[0]&7<<8, r[0], r[1], r[2])
	})
	return os.WriteFile(name, out, 0o644)
}

// pairHead returns the EVEX prefix of VDPBF16PS on 512-bit registers.
func pairHead(second, first, dst int) uint32 {
	inverse := func(reg, bit, to int) uint32 { return uint32(1-reg>>bit&1) << to }
	p0 := inverse(dst, 3, 7) | inverse(second, 4, 6) | inverse(second, 3, 5) | inverse(dst, 4, 4) | 2
	p1 := uint32(15-first&15)<<3 | 1<<2 | 2
	p2 := 2<<5 | inverse(first, 4, 3)
	return 0x62 | p0<<8 | p1<<16 | p2<<24
}
