//go:build amd64 && !noasm

package kernels

import "unsafe"

// simdFastInverse returns how many of n blocks it has done.
func simdFastInverse(dst []byte, l *BlockLine, n int) int {
	if n < 2 || ActiveLevel() == Portable {
		return 0
	}
	jpegInverseAVX2(n/2, l.Stride, &dst[0], (*byte)(unsafe.Pointer(&l.Coefs[0])), (*byte)(unsafe.Pointer(l.Quant)))
	return n &^ 1
}

// simdWiden returns how many pixels it has done, from the second on; dst begins at the second pixel's results.
func simdWiden(dst, src []byte) int {
	blocks := (len(src) - 2) / 16
	if blocks <= 0 || ActiveLevel() == Portable {
		return 0
	}
	jpegWidenAVX2(blocks, &dst[0], &src[1])
	return 16 * blocks
}

func simdWidenBoth(dst, near, far []byte) int {
	blocks := (len(near) - 2) / 16
	if blocks <= 0 || ActiveLevel() == Portable {
		return 0
	}
	jpegWidenBothAVX2(blocks, &dst[0], &near[1], &far[1])
	return 16 * blocks
}

func simdRGBPixels(dst, y, cb, cr []byte) int {
	blocks := len(y) / 16
	if blocks == 0 || ActiveLevel() == Portable {
		return 0
	}
	jpegColoursAVX2(blocks, &dst[0], &y[0], &cb[0], &cr[0])
	return 16 * blocks
}
