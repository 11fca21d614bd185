package initializers

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// VarianceScaling draws with a variance of Scale divided by a kernel's number of
// inputs (fan_in), of outputs (fan_out), or their mean (fan_avg). Kernels have
// TensorFlow's layout: [..., in, out], spatial dimensions first.
type VarianceScaling struct {
	Scale        float64
	Mode         string // fan_in, fan_out, fan_avg
	Distribution string // truncated_normal, untruncated_normal, uniform
}

// truncatedStddev is the standard deviation of a standard normal distribution
// truncated to [-2, 2]: scipy.stats.truncnorm.std(-2, 2).
const truncatedStddev = 0.87962566103423978

// GlorotUniform is uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
func GlorotUniform() VarianceScaling { return VarianceScaling{1, "fan_avg", "uniform"} }

// GlorotNormal is the truncated normal form of Glorot's initialization.
func GlorotNormal() VarianceScaling { return VarianceScaling{1, "fan_avg", "truncated_normal"} }

// HeUniform is uniform in +-sqrt(6 / fan_in) (He et al. 2015).
func HeUniform() VarianceScaling { return VarianceScaling{2, "fan_in", "uniform"} }

// HeNormal is a truncated normal of standard deviation sqrt(2 / fan_in).
func HeNormal() VarianceScaling { return VarianceScaling{2, "fan_in", "truncated_normal"} }

// LecunUniform is uniform in +-sqrt(3 / fan_in).
func LecunUniform() VarianceScaling { return VarianceScaling{1, "fan_in", "uniform"} }

// LecunNormal is a truncated normal of standard deviation sqrt(1 / fan_in).
func LecunNormal() VarianceScaling { return VarianceScaling{1, "fan_in", "truncated_normal"} }

// Init fills t, of a float type.
func (v VarianceScaling) Init(t *tensor.Tensor, key uint64) error {
	return v.InitRows(t, whole(t), key)
}

// InitRows fills rows of a tensor.
func (v VarianceScaling) InitRows(t *tensor.Tensor, rows Rows, key uint64) error {
	if err := v.validate(); err != nil {
		return err
	}
	in, out := Fans(rows.Full)
	n := map[string]float64{"fan_in": in, "fan_out": out, "fan_avg": (in + out) / 2}[v.Mode]
	variance := v.Scale / max(1, n)
	p := place{t, key, rows.offset()}
	switch v.Distribution {
	case "uniform":
		limit := math.Sqrt(3 * variance)
		return draw(p, uniform, 2*limit, -limit)
	case "untruncated_normal":
		return draw(p, normal, math.Sqrt(variance), 0)
	}
	return draw(p, truncated, math.Sqrt(variance)/truncatedStddev, 0)
}

func (v VarianceScaling) validate() error {
	if !(v.Scale > 0) {
		return fmt.Errorf("variance_scaling initializer: scale %g: expected > 0", v.Scale)
	}
	switch v.Mode {
	case "fan_in", "fan_out", "fan_avg":
	default:
		return fmt.Errorf("variance_scaling initializer: mode %q: expected fan_in, fan_out or fan_avg", v.Mode)
	}
	switch v.Distribution {
	case "truncated_normal", "untruncated_normal", "uniform":
	default:
		return fmt.Errorf("variance_scaling initializer: distribution %q: expected truncated_normal, untruncated_normal or uniform", v.Distribution)
	}
	return nil
}

// Fans returns the numbers of inputs and outputs of one unit of a kernel: a
// matrix is [in, out], a convolution [spatial..., in, out].
func Fans(shape []int) (in, out float64) {
	switch n := len(shape); n {
	case 0:
		return 1, 1
	case 1:
		return float64(shape[0]), float64(shape[0])
	default:
		field := float64(tensor.NumElements(shape[:n-2]))
		return field * float64(shape[n-2]), field * float64(shape[n-1])
	}
}
