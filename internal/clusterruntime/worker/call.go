package worker

import (
	"context"
	"slices"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Graph is a graph prepared for calls in this process.
type Graph struct{ registered *registered }

// Prepare prepares a graph for running. It is not registered: the caller has to bound its memory. The states of its random ops are its own.
func Prepare(def *graph_go_proto.GraphDef) (*Graph, error) {
	r, err := prepare(def, &eager.Generators{})
	return &Graph{r}, err
}

// Call is a run of a Graph.
type Call struct {
	Step    int64         // the step whose rendezvous it shares
	Peers   Peers         // workers from which it receives
	Payer   eager.Payer   // pays for new values
	Args    []eager.Value // values of its _Arg nodes
	Results []eager.Value // values of its _Retval nodes
}

// Run runs a graph once. The step stays until EndStep.
func (w *Worker) Run(ctx context.Context, g *Graph, c Call) error {
	table, release, err := w.use(c.Step, true)
	if err != nil {
		return err
	}
	defer release()
	at := w.step(g.registered, w.resources, &meeting{own: w.task, peers: c.Peers, step: c.Step, table: table, payer: c.Payer})
	at.Env.Payer, at.Args, at.Results = c.Payer, c.Args, c.Results
	return g.registered.program.Run(ctx, at)
}

// Payer returns a payer with its own account. It need not be closed.
func (w *Worker) Payer() eager.Payer {
	return eager.Payer{Account: w.memory.OpenLasting(), Lasting: true}
}

// Decode reads a received tensor.
func Decode(p *tensor_go_proto.TensorProto, payer eager.Payer) (*tensor.Tensor, error) {
	t, err := payer.Make(decodedSize(p), func() (*tensor.Tensor, error) { return graphdef.ViewTensorProto(p, nil) })
	if err == nil || isShortage(err) {
		return t, err
	}
	return nil, status.Error(codes.InvalidArgument, err.Error())
}

// step returns the worker's part of a graph's run.
func (w *Worker) step(g *registered, resources *eager.Resources, at *meeting) dataflow.Step {
	env := w.env
	env.Resources, env.Session, env.Functions, env.Payer = resources, g.session, g.functions, g.payer
	return dataflow.Step{Env: &env, Rendezvous: at, Parallel: w.parallel}
}

// here reports whether a device name belongs to this worker.
func (w *Worker) here(text string) (bool, error) {
	asked, err := device.Parse(text)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(w.devices, func(d *device_attributes_go_proto.DeviceAttributes) bool {
		own, err := device.Parse(d.GetName())
		return err == nil && asked.Matches(own)
	}), nil
}

// EndStep forgets a step. Nodes that still wait in it end with err.
func (w *Worker) EndStep(id int64, err error) {
	w.mu.Lock()
	s := w.steps[id]
	delete(w.steps, id)
	w.mu.Unlock()
	if s != nil {
		s.end(err)
	}
}

// FailStep ends waiting in a step, now and later, with err. The step stays until EndStep.
func (w *Worker) FailStep(id int64, err error) {
	if table, release, e := w.use(id, true); e == nil {
		table.Abort(err)
		release()
	}
}
