package rule

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Ftrl is FTRL-Proximal (McMahan et al. 2013): tf.compat.v1.train.FtrlOptimizer.
// Power is the learning rate's, <= 0; Initial is the accumulator's initial value;
// Shrinkage adds 2*Shrinkage*w to the gradient of only the linear term; Beta
// is the paper's beta, added to L2 as Beta/(2*lr).
type Ftrl struct{ Power, Initial, L1, L2, Shrinkage, Beta float64 }

// Name is "ftrl".
func (Ftrl) Name() string   { return "ftrl" }
func (Ftrl) Traits() Traits { return Traits{Label: "Ftrl"} }
func (r Ftrl) Slots() []Slot {
	return []Slot{{Keras: "accumulator", Init: r.Initial}, {Keras: "linear"}}
}

func (r Ftrl) Update(a *Application) []*graph.Node {
	op, tail := "ApplyFtrl", []graph.Output{a.scalar("lr_power", r.Power)}
	if r.Shrinkage > 0 {
		op, tail = "ApplyFtrlV2", []graph.Output{a.scalar("l2_shrinkage", r.Shrinkage), tail[0]}
	}
	l2 := a.scalar("l2", r.L2)
	if r.Beta != 0 {
		l2 = a.binary("AddV2", l2, a.binary("RealDiv", a.scalar("half_beta", r.Beta/2), a.Rate))
	}
	in := []graph.Output{a.Grad.Output}
	prefix := "Resource"
	if a.Grad.Sparse() {
		in, prefix = append(in, a.Grad.Indices), "ResourceSparse"
	}
	in = append(append(in, a.Rate, a.scalar("l1", r.L1), l2), tail...)
	return a.apply(prefix+op, graph.Attrs{"multiply_linear_by_lr": false}, in...)
}

// KerasFtrl is tf.keras.optimizers.Ftrl: the same update with other slot names.
type KerasFtrl struct{ Ftrl }

// Name is "keras_ftrl".
func (KerasFtrl) Name() string   { return "keras_ftrl" }
func (KerasFtrl) Traits() Traits { return Traits{Label: "Ftrl", Keras: true} }
