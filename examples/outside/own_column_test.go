package outside

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// firstLetter is a custom categorical column, computed by Go code.
type firstLetter struct{ Key string }

func (c *firstLetter) Name() string                    { return c.Key + "_letter" }
func (c *firstLetter) String() string                  { return "first_letter(" + c.Key + ")" }
func (c *firstLetter) Buckets() int                    { return 26 }
func (c *firstLetter) Feature() (string, tensor.DType) { return c.Key, tensor.String }
func (c *firstLetter) ID(value string) (int, error)    { return int(value[0] - 'a'), nil }

// TestMapping: a model with a custom categorical column can be trained. Its export fails with an error that says what to do.
func TestMapping(t *testing.T) {
	data := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Strings("word", inputs.Feature, []string{"apple", "bread", "ant", "bone"}), inputs.Slice("vowel", inputs.Label, []int64{1, 0, 1, 0}))
		if ic.Mode == inputs.Train {
			return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, true)), err
		}
		return inputs.Pipe(ds, inputs.Batch(4, false)), err
	})
	est, err := canned.LinearClassifier{Columns: []feature.Column{&firstLetter{"word"}}}.New(estimator.WithModelDir(t.TempDir()), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer est.Close()
	if _, err := est.Train(t.Context(), data, estimator.Steps(50)); err != nil {
		t.Fatal(err)
	}
	res, err := est.Evaluate(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy, _ := res.Scalar("accuracy"); accuracy != 1 {
		t.Errorf("accuracy %v, expected 1", accuracy)
	}
	_, err = est.ExportSavedModel(t.Context(), t.TempDir(), estimator.ParsingServingInput())
	if err == nil || !strings.Contains(err.Error(), `map "word" to ids in the input function`) {
		t.Errorf("exported: %v, expected an error that says what to do", err)
	}
}
