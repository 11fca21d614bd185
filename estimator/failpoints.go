package estimator

import "github.com/goestimator/goestimator/internal/platform/failpoint"

// The failpoints of a task, except for saving.
var (
	fpConnect  = failpoint.New("estimator/connect")  // before it joins the cluster
	fpRestore  = failpoint.New("estimator/restore")  // before variables get their values
	fpStep     = failpoint.New("estimator/step")     // before a step of training
	fpFinish   = failpoint.New("estimator/settle")   // after the last step, before it waits for the others
	fpEvaluate = failpoint.New("estimator/evaluate") // before the first batch of an evaluation
	fpExport   = failpoint.New("estimator/export")   // before exporters run
)
