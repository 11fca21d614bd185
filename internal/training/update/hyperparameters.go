package update

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
)

// Hyperparameters returns, by their names in checkpoints, the settings that
// tf.keras' optimizers (OptimizerV2) keep in variables, all of them scalars.
// Training here does not read them: they are in checkpoints so that tf.estimator
// can continue training. Only TrainOps with KerasNames have any, and a learning rate
// with a schedule is not among them.
func Hyperparameters(t *optimizers.TrainOp) map[string]float64 {
	out := map[string]float64{}
	if t.SlotNames != optimizers.KerasNames {
		return out
	}
	for i, g := range t.Groups {
		settings := map[string]float64{"decay": 0}
		plain := g.Rule
		if averaged, ok := plain.(rule.Averaged); ok {
			plain = averaged.Rule
		}
		switch r := plain.(type) {
		case rule.KerasSGD:
			settings["momentum"] = r.Momentum
		case rule.KerasAdagrad:
		case rule.KerasAdam:
			settings["beta_1"], settings["beta_2"] = r.Beta1, r.Beta2
		case rule.AMSGrad:
			settings["beta_1"], settings["beta_2"] = r.Beta1, r.Beta2
		case rule.Adamax:
			settings["beta_1"], settings["beta_2"] = r.Beta1, r.Beta2
		case rule.Adadelta:
			settings["rho"] = r.Rho
		case rule.KerasRMSProp:
			settings["rho"], settings["momentum"] = r.Rho, r.Momentum
		case rule.KerasFtrl:
			settings["learning_rate_power"], settings["beta"] = r.Power, r.Beta
			settings["l1_regularization_strength"], settings["l2_regularization_strength"] = r.L1, r.L2
		default: // AdamW, Lion and LAMB are not OptimizerV2, and its Nadam keeps other state
			continue
		}
		if c, ok := g.LearningRate.(optimizers.Constant); ok {
			settings["learning_rate"] = float64(c)
		}
		n := namesOf(t, i)
		for name, value := range settings {
			out[fmt.Sprintf("training/%s%s/%s", ruleOf(g).Traits().Label, n.suffix, name)] = value
		}
	}
	return out
}

// Iterations reports whether a variable is a Keras optimizer's count of updates.
// A checkpoint of tf.estimator does not have it for the first optimizer, which counts with
// the global step.
func Iterations(t *optimizers.TrainOp, variable string) bool {
	for i, g := range t.Groups {
		if ruleOf(g).Traits().Keras && namesOf(t, i).iterations() == variable {
			return true
		}
	}
	return false
}
