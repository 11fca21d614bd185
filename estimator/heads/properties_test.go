package heads_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit"
	"pgregory.net/rapid"
)

// drawn is a random batch of a binary classifier.
type drawn struct {
	logits, weights []float32
	labels          []int64
}

func draw(t *rapid.T) drawn {
	n := rapid.IntRange(1, 20).Draw(t, "rows")
	return drawn{
		logits:  rapid.SliceOfN(rapid.Float32Range(-50, 50), n, n).Draw(t, "logits"),
		weights: rapid.SliceOfN(rapid.SampledFrom([]float32{0, 0.5, 1, 3}), n, n).Draw(t, "weights"),
		labels:  rapid.SliceOfN(rapid.Int64Range(0, 1), n, n).Draw(t, "labels"),
	}
}

func (d drawn) input(label string) estimator.InputFn {
	return batchesOf(100, inputs.Slice("logits", inputs.Feature, d.logits, 1), inputs.Slice("w", inputs.Feature, d.weights),
		inputs.Slice(label, inputs.Label, d.labels))
}

func evaluate(t *rapid.T, e *estimator.Estimator, in estimator.InputFn) estimator.EvalResult {
	res, err := e.Evaluate(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (d drawn) close(t *rapid.T, what string, got, want float64) {
	if !testkit.Near(got, want, 1e-5*math.Max(1, math.Abs(want))) {
		t.Fatalf("%s is %.9g, expected %.9g", what, got, want)
	}
}

// TestBinaryProperties compares the binary head with its definition in float64,
// with the same labels as words, and with itself as the only head of a Multi.
func TestBinaryProperties(t *testing.T) {
	weighted := heads.WithWeightColumn("w")
	plain := openHead(t, made(heads.BinaryClass(weighted)))
	worded := openHead(t, made(heads.BinaryClass(weighted, heads.WithLabelVocabulary("no", "yes"))))
	multi := openHead(t, made(heads.Multi(heads.BinaryClass(weighted, heads.WithName("only"))).Weighted(0.5)))
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		res := evaluate(t, plain, d.input("y"))
		var sum, weights, right, ones float64
		for i, z := range d.logits {
			w, y := float64(d.weights[i]), float64(d.labels[i])
			sum += w * (math.Max(float64(z), 0) - float64(z)*y + math.Log1p(math.Exp(-math.Abs(float64(z)))))
			weights += w
			ones += w * y
			if (z > 0) == (d.labels[i] == 1) {
				right += w
			}
		}
		share := func(x float64) float64 {
			if weights == 0 {
				return 0
			}
			return x / weights
		}
		want := map[string]float64{"loss": sum / float64(len(d.logits)), "average_loss": share(sum), "accuracy": share(right),
			"label/mean": share(ones), "accuracy_baseline": share(math.Max(ones, weights-ones))}
		for name, w := range want {
			got, _ := res.Scalar(name)
			d.close(t, name, got, w)
		}
		words := make([]string, len(d.labels))
		for i, y := range d.labels {
			words[i] = []string{"no", "yes"}[y]
		}
		same := evaluate(t, worded, batchesOf(100, inputs.Slice("logits", inputs.Feature, d.logits, 1),
			inputs.Slice("w", inputs.Feature, d.weights), inputs.Strings("y", inputs.Label, words)))
		only := evaluate(t, multi, d.input("only"))
		for name, v := range res.Metrics {
			if same.Metrics[name].String() != v.String() {
				t.Fatalf("%s is %v with words, %v with ids", name, same.Metrics[name], v)
			}
			if name != "loss" && only.Metrics[name+"/only"].String() != v.String() {
				t.Fatalf("%s/only is %v in a Multi, %v alone", name, only.Metrics[name+"/only"], v)
			}
		}
		half, _ := only.Scalar("loss")
		d.close(t, "half the loss", half, want["loss"]/2)
	})
}

// TestPredictionProperties: probabilities sum to 1, the predicted class is the
// most probable, and its word is the vocabulary's.
func TestPredictionProperties(t *testing.T) {
	vocabulary := []string{"ant", "", "é\x00", "cow"}
	e := openHead(t, made(heads.MultiClass(4, heads.WithLabelVocabulary(vocabulary...))))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 9).Draw(t, "rows")
		logits := rapid.SliceOfN(rapid.Float32Range(-1e4, 1e4), 4*rows, 4*rows).Draw(t, "logits")
		for p, err := range e.Predict(context.Background(), batchesOf(4, inputs.Slice("logits", inputs.Feature, logits, 4))) {
			if err != nil {
				t.Fatal(err)
			}
			sum, best := 0.0, 0
			for i := range 4 {
				sum += p.Get("probabilities").Float(i)
				if p.Get("logits").Float(i) > p.Get("logits").Float(best) {
					best = i
				}
			}
			if id := int(p.Get("class_ids").Float(0)); math.Abs(sum-1) > 1e-5 || id != best || string(p.Get("classes").Strings[0]) != vocabulary[best] {
				t.Fatalf("sum of probabilities %g, class %d %q: expected 1, %d %q", sum, id, p.Get("classes").Strings[0], best, vocabulary[best])
			}
			all := make([]string, 4)
			for i, w := range p.Get("all_classes").Strings {
				all[i] = string(w)
			}
			if !slices.Equal(all, vocabulary) {
				t.Fatalf("all classes are %q", all)
			}
		}
	})
}
