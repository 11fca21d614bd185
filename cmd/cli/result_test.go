package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
)

// TestResultsThatAreNotFinite: they are null in JSON, and not_finite lists them, including elements of vectors.
func TestResultsThatAreNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		s    summary
		json string
		text string
	}{
		{summary{}, `{"global_step":0,"loss":null,"metrics":{},"model_dir":"","exports":[]}`, "global_step=0\n"},
		{summary{globalStep: -1}, `{"global_step":null,"loss":null,"metrics":{},"model_dir":"","exports":[]}`, ""},
		{summary{globalStep: 3, loss: &nan, stopReason: "nan_loss"},
			`{"global_step":3,"loss":null,"metrics":{},"not_finite":{"loss":"NaN"},"model_dir":"","exports":[],"stop_reason":"nan_loss"}`,
			"global_step=3\ntrain_loss=NaN\nstop_reason=nan_loss\n"},
		{summary{loss: &inf, metrics: map[string]metrics.Value{
			"loss": {Data: []float64{-inf}}, "a/b": {Data: []float64{nan}}, "ok": {Data: []float64{0}},
			"vector": {Shape: []int{2, 2}, Data: []float64{1, nan, inf, -inf}}, "none": {Shape: []int{0}}}, exports: []string{"x"}},
			`{"global_step":0,"loss":null,"metrics":{"a/b":null,"loss":null,"none":[],"ok":0,"vector":[1,null,null,null]},` +
				`"not_finite":{"loss":"+Inf","metrics.a/b":"NaN","metrics.loss":"-Inf","metrics.vector[1]":"NaN","metrics.vector[2]":"+Inf","metrics.vector[3]":"-Inf"},` +
				`"model_dir":"","exports":["x"]}`,
			"global_step=0\ntrain_loss=+Inf\na/b=NaN\nloss=-Inf\nok=0\nexport=x\n"},
	} {
		var out bytes.Buffer
		a := &app{stdout: &out}
		if err := a.printResult(c.s, true); err != nil || !json.Valid(out.Bytes()) {
			t.Errorf("%s: error %v", out.String(), err)
		}
		if d := cmp.Diff(c.json+"\n", out.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		out.Reset()
		if err := a.printResult(c.s, false); err != nil || out.String() != c.text {
			t.Errorf("got %q, expected %q, error %v", out.String(), c.text, err)
		}
	}
}

// TestBlownUp: a last loss that is not finite is an error, unless no step was run.
func TestBlownUp(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		loss  float64
		read  bool
		wrong bool
	}{{1, true, false}, {0, true, false}, {math.MaxFloat64, true, false}, {nan, false, false}, {nan, true, true}, {inf, true, true}, {-inf, true, true}} {
		if err := blownUp(estimator.TrainResult{Loss: c.loss, LossRead: c.read}); (err != nil) != c.wrong {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}
