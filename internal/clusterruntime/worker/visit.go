package worker

import (
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/imported/eager"
)

// visit is a call that runs a registered graph.
type visit struct {
	id        int64 // of the step
	graph     *registered
	session   *opened // nil for a session without its own state
	resources *eager.Resources
	step      *step // nil if the graph exchanges tensors only with its caller
}

// visit begins a call, which must call leaveVisit.
func (w *Worker) visit(in *rpcs.RunGraphRequest) (v visit, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v = visit{id: in.GetStepId(), graph: w.graphs[in.GetGraphHandle()]}
	if v.graph == nil {
		return v, noGraph(in.GetGraphHandle())
	}
	if v.session, err = w.known(v.graph.session, in.GetCreateWorkerSessionCalled()); err != nil {
		return v, err
	}
	v.resources = w.resourcesOf(v.graph.session)
	if v.graph.meets || in.GetIsPartial() {
		if v.step, err = w.enterStep(v.id, true); err != nil {
			return v, err
		}
		v.step.session = v.graph.session
	}
	v.graph.users++
	return v, nil
}

// leaveVisit ends a call.
func (w *Worker) leaveVisit(v visit) {
	w.mu.Lock()
	if v.step != nil {
		w.leaveStep(v.id, v.step)
	}
	v.graph.users--
	unused := v.graph.gone && v.graph.users == 0
	w.mu.Unlock()
	if unused {
		_ = v.graph.regions.Close() // host memory: an error does not matter
	}
}
