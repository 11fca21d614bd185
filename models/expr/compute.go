package expr

import "math"

// Compute returns the results for n elements: each input has n values. The program must be one that
// Trace made or Check accepted, and inputs must have all inputs that it reads.
func (p Program) Compute(n int, inputs map[string][]float64) [][]float64 {
	values := make([][]float64, len(p.Instructions))
	for i, x := range p.Instructions {
		in := make([][]float64, len(x.Args))
		for j, a := range x.Args {
			in[j] = values[a]
		}
		if x.Op == opInput {
			values[i] = inputs[x.Name]
			continue
		}
		values[i] = make([]float64, n)
		x.compute(values[i], in)
	}
	out := make([][]float64, len(p.Results))
	for i, r := range p.Results {
		out[i] = values[r]
	}
	return out
}

// compute writes an instruction's value for each element over out.
func (x Instruction) compute(out []float64, in [][]float64) {
	switch {
	case x.Op == opNumber:
		fill(out, x.Value)
	case x.Op == opNorm:
		sum := 0.0
		for _, v := range in[0] {
			sum += v * v
		}
		fill(out, math.Sqrt(sum))
	case x.Op == opWhenLess:
		for i := range out {
			if out[i] = in[3][i]; in[0][i] < in[1][i] {
				out[i] = in[2][i]
			}
		}
	case len(in) == 1:
		f := unary[x.Op]
		for i, v := range in[0] {
			out[i] = f(v)
		}
	default:
		f := binary[x.Op]
		for i, v := range in[0] {
			out[i] = f(v, in[1][i])
		}
	}
}

func fill(out []float64, v float64) {
	for i := range out {
		out[i] = v
	}
}

// Elementwise reports whether each element of the results depends only on the same element of the inputs, that is,
// whether the program has no Norm.
func (p Program) Elementwise() bool {
	for _, x := range p.Instructions {
		if x.Op == opNorm {
			return false
		}
	}
	return true
}
