package kernels

import "sync/atomic"

// Level is the instruction set that the kernels use.
type Level int32

// The levels. Each includes the ones before it.
const (
	Portable Level = iota // Go code only
	AVX2                  // amd64 with AVX2 and FMA
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL, and BMI2
)

// String returns the level's name as `goestimator doctor` prints it.
func (l Level) String() string {
	switch l {
	case AVX512:
		return "avx512"
	case AVX2:
		return "avx2"
	default:
		return "portable"
	}
}

var level atomic.Int32

func init() { level.Store(int32(BestLevel())) }

// ActiveLevel returns the level in use: BestLevel unless SetLevel lowered it.
func ActiveLevel() Level { return Level(level.Load()) }

// SetLevel makes the kernels use at most the given level and returns the level in use. Results of different levels
// differ by rounding. Call it while no kernel runs.
func SetLevel(l Level) Level {
	l = max(Portable, min(l, BestLevel()))
	level.Store(int32(l))
	return l
}
