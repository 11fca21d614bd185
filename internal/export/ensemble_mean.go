package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// mean returns the ensemble's signature for a signature that each model has; first has all signatures of the first model.
func (a *ensemble) mean(all []Signature, first []Signature) (Signature, error) {
	out := all[0]
	out.Outputs = nil
	for _, o := range all[0].Outputs {
		same := make([]Named, len(all))
		for k, s := range all {
			j := slices.IndexFunc(s.Outputs, func(p Named) bool { return p.Name == o.Name })
			if j < 0 || len(s.Outputs) != len(all[0].Outputs) {
				return out, fmt.Errorf("model %d has other outputs than the first one", k)
			}
			same[k] = s.Outputs[j]
			if x, y := o.Output.Type(), same[k].Output.Type(); x.DType != y.DType || !x.Shape.Equal(y.Shape) {
				return out, fmt.Errorf("output %q is %v%v, and %v%v in model %d: expected the same", o.Name, x.DType, x.Shape, y.DType, y.Shape, k)
			}
			if !sameWords(o.Text, same[k].Text) {
				return out, fmt.Errorf("output %q has other words in model %d than in the first one", o.Name, k)
			}
		}
		mean, err := a.meanOf(same, all, first)
		if err != nil {
			return out, fmt.Errorf("output %q: %w", o.Name, err)
		}
		out.Outputs = append(out.Outputs, mean)
	}
	return out, nil
}

func sameWords(x, y *Text) bool {
	return x == nil && y == nil || x != nil && y != nil && slices.Equal(x.Words, y.Words)
}

// meanOf returns the ensemble's output for an output of each model.
func (a *ensemble) meanOf(same []Named, all, first []Signature) (Named, error) {
	out := same[0]
	if out.Text == nil && out.Output.DType().Float() {
		out.Output = a.average(out.Name, outputs(same))
		return out, nil
	}
	if head, ok := headOf(first, out.Output); ok {
		var probabilities []graph.Output
		for _, s := range all {
			i := slices.IndexFunc(s.Outputs, func(o Named) bool { return o.Name == head+"probabilities" && o.Output.DType().Float() })
			if i < 0 {
				return out, fmt.Errorf("the class of the greatest mean needs %sprobabilities beside it", head)
			}
			probabilities = append(probabilities, s.Outputs[i].Output)
		}
		out.Output = a.greatest(head+"class_ids", a.average(head+"probabilities", probabilities), out.Output.Type())
		return out, nil
	}
	if slices.Contains([]string{"all_class_ids", "all_classes", classesOutput}, lastPart(out.Name)) || fixed(out.Output) {
		return out, nil // the same in all models
	}
	return out, fmt.Errorf("it is %v: expected numbers with a fraction, which have a mean, or class_ids beside probabilities", out.Output.DType())
}

func outputs(list []Named) (out []graph.Output) {
	for _, o := range list {
		out = append(out, o.Output)
	}
	return out
}

// headOf returns the prefix of the names of a head, "" or NAME/, if an output is the head's predicted classes.
func headOf(list []Signature, ids graph.Output) (string, bool) {
	for _, s := range list {
		for _, o := range s.Outputs {
			if o.Output == ids && o.Text == nil && lastPart(o.Name) == "class_ids" {
				return strings.TrimSuffix(o.Name, "class_ids"), true
			}
		}
	}
	return "", false
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// fixed reports whether an output depends on no variable, so that it is the same in all models.
func fixed(o graph.Output) bool {
	for n := range graph.Reachable(o.Node) {
		if n.Op == "VarHandleOp" {
			return false
		}
	}
	return true
}

// average adds the mean of values of the same type, once for each value.
func (a *ensemble) average(name string, values []graph.Output) graph.Output {
	if mean, ok := a.means[values[0]]; ok {
		return mean
	}
	sum := values[0]
	for k, v := range values[1:] {
		sum = a.like("AddV2", fmt.Sprintf("ensemble/%s/sum_%d", name, k+1), sum.DType(), sum, v)
	}
	mean := a.like("RealDiv", "ensemble/"+name, sum.DType(), sum, a.Scalar("ensemble/"+name+"/models", sum.DType(), float64(len(values))))
	a.means[values[0]] = mean
	return mean
}

// greatest adds the index of the largest element along the last dimension, the first one on ties, with the type of the models' classes.
func (a *ensemble) greatest(name string, of graph.Output, want graph.Type) graph.Output {
	rank := of.Shape().Rank()
	dims := of.Shape().Dims[:rank-1]
	at := a.Op("ArgMax", "ensemble/"+name+"/greatest", ofRank(tensor.Int64, dims...),
		graph.Attrs{"T": of.DType(), "Tidx": tensor.Int32, "output_type": tensor.Int64}, of, a.Scalar("ensemble/"+name+"/axis", tensor.Int32, float64(rank-1)))
	return a.shaped("ensemble/"+name, a.cast("ensemble/"+name+"/cast", at, want.DType), want.Shape)
}
