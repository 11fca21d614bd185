package update

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names are those in checkpoints of tf.estimator of TensorFlow 2.15.
func TestHyperparameters(t *testing.T) {
	op := trainOp(mustNew(t, "keras_adam", keras(nil)), variable("a", 1))
	op.Groups = append(op.Groups, trainOp(mustNew(t, "keras_ftrl", keras(map[string]any{"l1": 0.5, "learning_rate": 0.25})), variable("b", 1)).Groups[0])
	want := map[string]float64{
		"training/Adam/learning_rate": 0.001, "training/Adam/decay": 0, "training/Adam/beta_1": 0.9, "training/Adam/beta_2": 0.999,
		"training/Ftrl/learning_rate": 0.25, "training/Ftrl/decay": 0, "training/Ftrl/beta": 0, "training/Ftrl/learning_rate_power": -0.5,
		"training/Ftrl/l1_regularization_strength": 0.5, "training/Ftrl/l2_regularization_strength": 0,
	}
	if d := cmp.Diff(want, Hyperparameters(op)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, is := range map[string]bool{"training/Adam/iter": true, "training/Ftrl/iter": true, "a": false, "training/SGD/iter": false} {
		if Iterations(op, name) != is {
			t.Errorf("Iterations(%s) = %v, expected %v", name, !is, is)
		}
	}
	if got := Hyperparameters(trainOp(mustNew(t, "adam", nil), variable("a", 1))); len(got) > 0 {
		t.Errorf("names of TensorFlow 1: got %v, expected none", got)
	}
}
