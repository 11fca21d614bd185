package optimizers

// Optimizer makes the optimizer that the spec describes. Values that are not set take the
// rule's default.
func (s Spec) Optimizer() (*Optimizer, error) { return New(s.Name, s.parameters()) }

// parameters returns the values that are set, by the names that New knows.
func (s Spec) parameters() map[string]any {
	p := map[string]any{"learning_rate": s.LearningRate.parameters()}
	for _, h := range s.hypers() {
		p[h.name] = *h.value
	}
	if s.WeightDecay != nil {
		p["weight_decay"] = *s.WeightDecay
	}
	put(p, "nesterov", s.Nesterov)
	put(p, "centered", s.Centered)
	put(p, "no_decay", s.WeightDecayExclude)
	put(p, string(ClipNorm), s.ClipNorm)
	put(p, string(ClipValue), s.ClipValue)
	put(p, string(ClipGlobalNorm), s.GlobalClipNorm)
	put(p, "accumulate_steps", s.AccumulateSteps)
	put(p, "loss_scale", s.LossScale)
	put(p, "skip_nonfinite", s.SkipNonFinite)
	if s.Averaging.Kind != noAveraging && s.Averaging.Kind != "" {
		p["averaging"] = s.Averaging.parameters()
	}
	put(p, "slot_names", s.SlotNames)
	return p
}

// parameters returns the values that are set, by the names that NewSchedule knows.
func (l LearningRateSpec) parameters() map[string]any {
	p := map[string]any{"schedule": l.Schedule, "initial": l.Initial}
	put(p, "decay_steps", l.DecaySteps)
	put(p, "decay_rate", l.DecayRate)
	put(p, "staircase", l.Staircase)
	put(p, "end", l.End)
	put(p, "power", l.Power)
	put(p, "cycle", l.Cycle)
	put(p, "alpha", l.Alpha)
	put(p, "t_mul", l.TMul)
	put(p, "m_mul", l.MMul)
	put(p, "model_size", l.ModelSize)
	put(p, "pct_start", l.PctStart)
	put(p, "div_factor", l.DivFactor)
	put(p, "final_div_factor", l.FinalDivFactor)
	put(p, "metric", l.Metric)
	put(p, "higher_is_better", l.HigherIsBetter)
	put(p, "factor", l.Factor)
	put(p, "patience", l.Patience)
	put(p, "min_delta", l.MinDelta)
	put(p, "cooldown", l.Cooldown)
	put(p, "min_lr", l.MinLR)
	put(p, "warmup_steps", l.WarmupSteps)
	if len(l.Boundaries) > 0 {
		p["boundaries"] = l.Boundaries
	}
	if len(l.Parts) > 0 {
		p["parts"] = l.Parts
	}
	if len(l.Values) > 0 {
		p["values"] = l.Values
	}
	return p
}

// put adds a value that is set.
func put[T comparable](p map[string]any, name string, value T) {
	var none T
	if value != none {
		p[name] = value
	}
}
