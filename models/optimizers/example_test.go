package optimizers_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models/optimizers"
)

// An optimizer from a config file; a model_fn passes its loss to Minimize.
func ExampleNew() {
	o, err := optimizers.New("adam", map[string]any{
		"learning_rate":    map[string]any{"schedule": "cosine", "initial": 0.1, "decay_steps": 1000, "warmup_steps": 100},
		"global_clip_norm": 1.0,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Rule.Name(), o.Transforms)
	for _, step := range []int64{0, 50, 100, 600, 1100} {
		fmt.Printf("step %d: %.3f\n", step, optimizers.RateAt(o.LearningRate, step))
	}
	// Output:
	// adam [{global_clip_norm 1}]
	// step 0: 0.000
	// step 50: 0.050
	// step 100: 0.100
	// step 600: 0.050
	// step 1100: 0.000
}
