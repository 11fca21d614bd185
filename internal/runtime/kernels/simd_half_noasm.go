//go:build !amd64 || noasm

package kernels

func simdWidenHalves(Half, []float32, []uint16) bool { return false }

func simdNarrowHalves(Half, []uint16, []float32) bool { return false }

func simdAddProductHalf(_, _ []float32, _ float32) bool { return false }

func simdPairs([]uint16, []float32) {}

// pairProducts reports whether there are micro-kernels of pairs of bfloat16 at a level.
func pairProducts(Level) bool { return false }

var setPairs tileSet

// rowTiles returns the micro-kernels for rows of 16-bit numbers at a level.
func rowTiles(Half, Level) *tileSet { return portableTiles[float32]() }
