package heads_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
)

func TestCountsThatAHeadDoesNotHaveRefused(t *testing.T) {
	for _, c := range []struct {
		params estimator.Params
		want   string
	}{
		{estimator.Params{"head": "regression", "classes": 3}, "classes: a regression head predicts numbers: leave it out"},
		{estimator.Params{"head": "reconstruction", "classes": 2, "class_names": []any{"a", "b"}}, "classes: a reconstruction head predicts numbers: leave it out"},
		{estimator.Params{"head": "multi_label", "classes": 3, "label_dimension": 3}, "label_dimension: a multi_label head has classes instead"},
		{estimator.Params{"head": "median", "classes": 3}, `unknown head "median"`},
	} {
		if _, _, err := heads.FromParams(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, expected %q", c.params, err, c.want)
		}
	}
}
