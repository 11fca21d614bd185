package runconfig

import (
	"strings"
	"testing"
)

func TestElastic(t *testing.T) {
	ring := func(e Elastic) Strategy { return Strategy{Name: "multi_worker_mirrored", Elastic: e} }
	for name, c := range map[string]struct {
		s    Strategy
		want string
	}{
		"on":          {ring(Elastic{Min: 1, Max: 8, Batch: PerWorkerBatch, WaitSecs: 5}), ""},
		"off":         {ring(Elastic{}), ""},
		"no min":      {ring(Elastic{Max: 8}), "elastic.min"},
		"max":         {ring(Elastic{Min: 3, Max: 2}), "elastic.max"},
		"batch":       {ring(Elastic{Min: 1, Batch: "local"}), "elastic.batch"},
		"scaled":      {ring(Elastic{Min: 1, Batch: PerWorkerBatch, ScaleLR: ScaleLinear}), ""},
		"not scaled":  {ring(Elastic{Min: 1, ScaleLR: ScaleNone}), ""},
		"scale":       {ring(Elastic{Min: 1, Batch: PerWorkerBatch, ScaleLR: "sqrt"}), "elastic.scale_lr"},
		"same rows":   {ring(Elastic{Min: 1, ScaleLR: ScaleLinear}), "elastic.scale_lr"},
		"wait":        {ring(Elastic{Min: 1, WaitSecs: -1}), "elastic.wait_secs"},
		"other kind":  {Strategy{Name: "mirrored", Elastic: Elastic{Min: 1}}, "elastic.min"},
		"joint evals": {Strategy{Name: "multi_worker_mirrored", DistributedEval: true, Elastic: Elastic{Min: 1}}, "distributed_eval"},
	} {
		_, err := FromTFConfig("", TrainDistribute(c.s))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
	for workers, ok := range map[int]bool{1: false, 2: true, 4: true, 5: false} {
		if err := (Elastic{Min: 2, Max: 4}).InCluster(workers); (err == nil) != ok {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}
