package estimator_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
)

// TestRaggedColumnsShrink: a long example makes the program longer only for some steps. If
// such examples recur, the program stays long. Predictions do not change.
func TestRaggedColumnsShrink(t *testing.T) {
	for name, every := range map[string]int{"once": 0, "again and again": 200} {
		t.Run(name, func(t *testing.T) {
			const steps = 2000
			data := newRaggedData(steps, 3, 1)
			for i := range data.y {
				data.steps[i] = make([]float32, 2*(3-i%4))
				if i == 0 || every > 0 && i%every == 0 {
					data.steps[i] = make([]float32, 2*60)
				}
			}
			var lengths []int // longest examples of training programs, each built at two batch sizes
			model := func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
				if n := f.Ragged("steps").Steps(2).MaxLength(); mc.Mode() == models.Train && (len(lengths) == 0 || lengths[len(lengths)-1] != n) {
					lengths = append(lengths, n)
				}
				return raggedModel(mc, f, l)
			}
			e := custom(t, estimator.ModelFunc(model), t.TempDir())
			if _, err := e.Train(t.Context(), data, estimator.MaxSteps(steps)); err != nil {
				t.Fatal(err)
			}
			if every == 0 && !slices.Equal(lengths, []int{1, 64, 4}) {
				t.Errorf("programs of %v steps: expected them to grow once and to shrink once", lengths)
			}
			if every > 0 && !slices.Equal(lengths, []int{1, 64, 4, 64, 4, 64}) {
				t.Errorf("programs of %v steps: expected them to stay long in the end", lengths)
			}
			i := 0
			for p, err := range e.Predict(t.Context(), data) {
				if err != nil {
					t.Fatal(err)
				}
				if got := p.Get("steps").Float(0); int(got) != len(data.steps[i])/2 {
					t.Fatalf("example %d: %v steps, expected %d", i, got, len(data.steps[i])/2)
				}
				i++
			}
		})
	}
}
