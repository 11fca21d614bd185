package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/functionalize"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/internal/imported/stablehlograph"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// startLimit bounds the time a model may run while it is loaded: its loops may not end.
const startLimit = 10 * time.Minute

// Open makes a Session of the model in dir: of the SavedModel's graph with o.Tags, or else of the ONNX model.
func Open(ctx context.Context, dir string, o Options) (*Session, error) {
	if IsONNX(dir) {
		return openONNX(ctx, dir, o)
	}
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		return nil, err
	}
	if len(o.Tags) == 0 {
		o.Tags = []string{savedmodel.TagServe}
	}
	mg, err := m.MetaGraph(o.Tags...)
	if err != nil {
		return nil, err
	}
	return Load(ctx, mg, o)
}

// Load makes a Session of a graph: it restores variables and initializes tables. If an op or the value of a variable
// that the signatures need is unsupported, it fails, and names all of them.
func Load(ctx context.Context, mg *savedmodel.MetaGraph, o Options) (s *Session, err error) {
	return load(ctx, mg, nil, o)
}

// load is Load with values, by name, for variables that no checkpoint has.
func load(ctx context.Context, mg *savedmodel.MetaGraph, values map[string]*tensor.Tensor, o Options) (s *Session, err error) {
	defer recovered(&err)
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = runtime.GOMAXPROCS(0)
	}
	if o.Limit <= 0 {
		o.Limit = eager.DefaultLimit
	}
	gd, err := stablehlograph.Lower(ctx, mg.Proto.GetGraphDef())
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", mg.Dir, err)
	}
	flat, err := inline.Flatten(gd, roots(mg))
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", mg.Dir, err)
	}
	dropIdle(flat)
	callees, err := inline.Callees(flat)
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", mg.Dir, err)
	}
	if callees, err = functionalize.Graph(flat, roots(mg), callees); err != nil {
		return nil, fmt.Errorf("saved model %s: %w: %w", mg.Dir, eager.ErrUnsupported, err)
	}
	if optimized(mg) {
		multiply(flat, callees, inputNodes(mg))
	}
	flat.Library = nil // only the callees are needed from here on
	g, err := graphdef.FromGraphDef(flat)
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", mg.Dir, err)
	}
	inner, err := readFunctions(callees)
	if err != nil {
		return nil, ofModel(mg.Dir, err)
	}
	o.Check.setDefaults()
	s = &Session{options: o, state: newLock(), passes: passes(g, inner), calls: updatesOf(inner), sigs: mg.Signatures, graph: g, dev: o.Device, plans: map[string]*plan{}, doubtful: map[*graph.Node]error{}}
	if s.dev == nil {
		s.dev = device.NewHost()
	}
	s.constants = constantBytes(g)
	s.env = environment(mg, o)
	if err := s.give(values); err != nil {
		return nil, ofModel(mg.Dir, err)
	}
	if err := s.prepare(ctx, mg, inner); err != nil {
		return nil, errors.Join(ofModel(mg.Dir, err), s.abandon())
	}
	return s, nil
}

// abandon frees what a failed Load has made.
func (s *Session) abandon() error {
	if s.vars == nil {
		return nil
	}
	return s.Close()
}

// environment returns the environment of eager nodes: it has its own variables and tables, and only the model's files.
func environment(mg *savedmodel.MetaGraph, o Options) *eager.Env {
	dir := mg.Dir // the functions below outlive mg, which is large
	prefix := filepath.Join(dir, savedmodel.VariablesPrefix)
	own := map[string]bool{}
	for _, a := range mg.Assets {
		own[a.Path] = true
	}
	return &eager.Env{Limit: o.Limit, Resources: eager.NewResources(),
		Bundle: func(p string) (*bundle.Reader, error) {
			if p != prefix {
				return nil, fmt.Errorf("checkpoint %q is not the model's own", p)
			}
			return bundle.Open(atomicfile.OS{}, p)
		},
		Open: func(p string) (io.ReadCloser, error) {
			if !own[p] {
				return nil, fmt.Errorf("file %q is not one of the model's assets", p)
			}
			return openAsset(dir, p)
		}}
}

// inputNodes returns the nodes whose values requests provide.
func inputNodes(mg *savedmodel.MetaGraph) (names []string) {
	for _, sig := range mg.Signatures {
		for _, t := range sig.GetInputs() {
			if node, _, ok := split(t.GetName()); ok {
				names = append(names, node)
			}
		}
	}
	return names
}

// roots returns the nodes that a session may have to run.
func roots(mg *savedmodel.MetaGraph) []string {
	var names []string
	add := func(name string) {
		if node, _, ok := split(name); ok {
			names = append(names, node)
		}
	}
	for _, sig := range mg.Signatures {
		for _, t := range sig.GetInputs() {
			add(t.GetName())
		}
		for _, t := range sig.GetOutputs() {
			add(t.GetName())
		}
	}
	for _, a := range mg.Assets {
		add(a.Tensor)
	}
	names = append(names, mg.InitOps...)
	if op := mg.Proto.GetSaverDef().GetRestoreOpName(); op != "" {
		add(op)
		add(mg.Proto.GetSaverDef().GetFilenameTensorName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// prepare checks the ops, restores variables, runs the init ops and makes a dry run of each signature. inner has the functions.
func (s *Session) prepare(ctx context.Context, mg *savedmodel.MetaGraph, inner []function) (err error) {
	if s.vars, err = newVariables(s.dev, s.env); err != nil {
		return err
	}
	if err := s.checkSignatures(); err != nil {
		return err
	}
	plans, err := s.signaturePlans()
	if err != nil {
		return err
	}
	if err := s.checkNodes(append(slices.Clone(plans), s.startPlans(mg)...), inner); err != nil {
		return err
	}
	if s.env.Functions, err = makeFunctions(inner); err != nil {
		return err
	}
	for _, p := range plans {
		s.vars.note(p.nodes, s.calls)
	}
	s.readByFunctions(inner)
	if err := s.restore(ctx, mg); err != nil {
		return err
	}
	if err := s.initialise(ctx, mg); err != nil {
		return err
	}
	s.forgetUnread(mg, inner)
	if err := s.vars.check(plans); err != nil {
		return err
	}
	if err := warm(plans); err != nil {
		return err
	}
	s.features = map[string][]Feature{}
	for i, key := range slices.Sorted(maps.Keys(s.sigs)) {
		s.features[key] = parsedFeatures(plans[i].nodes)
	}
	if err := s.dryRun(ctx, plans, inner); err != nil {
		return err
	}
	s.vars.release()
	s.vars.engine.Compact()
	return nil
}

// readByFunctions notes the variables that functions read.
func (s *Session) readByFunctions(inner []function) {
	for _, f := range inner {
		for _, n := range f.graph.Nodes() {
			if n.Op == "VarHandleOp" {
				s.vars.read(key(n))
			}
		}
	}
}

// startPlans plans the restoring of variables and the initialization of tables, so that everything that is missing is named at once.
// If something cannot be planned, running it returns the error.
func (s *Session) startPlans(mg *savedmodel.MetaGraph) (plans []*plan) {
	for _, op := range append([]string{mg.Proto.GetSaverDef().GetRestoreOpName()}, mg.InitOps...) {
		name, _, _ := split(op)
		if p, err := s.newPlan(nil, nil, []string{name}); err == nil {
			p.eagerly = true
			plans = append(plans, p)
		}
	}
	return plans
}

// checkSignatures resolves all tensors.
func (s *Session) checkSignatures() error {
	s.shapes = map[graph.Output]graph.Shape{}
	for key, sig := range s.sigs {
		for alias, t := range sig.GetInputs() {
			o, ok := outputOf(s.graph, t.GetName())
			if !ok {
				return fmt.Errorf("signature %q: input %q is %w", key, alias, unresolved(t))
			}
			if sh := t.GetTensorShape(); sh != nil && !sh.GetUnknownRank() && o.Shape().UnknownRank {
				dims := graph.Shape{Dims: make([]graph.Dim, len(sh.GetDim()))}
				for i, d := range sh.GetDim() {
					dims.Dims[i] = graph.Unknown
					if d.GetSize() >= 0 {
						dims.Dims[i] = graph.Fixed(int(d.GetSize()))
					}
				}
				if len(dims.Dims) > 0 { // an unset shape looks like a scalar's
					s.shapes[o] = dims
				}
			}
		}
		for alias, t := range sig.GetOutputs() {
			o, ok := outputOf(s.graph, t.GetName())
			if !ok {
				return fmt.Errorf("signature %q: output %q is %w", key, alias, unresolved(t))
			}
			if d := o.DType(); d == tensor.Resource || d == tensor.Variant {
				return fmt.Errorf("signature %q: output %q is tensor %q of type %v: expected numbers or strings", key, alias, t.GetName(), d)
			}
		}
	}
	return nil
}

// unresolved says why the graph does not have a signature's tensor.
func unresolved(t *pb.TensorInfo) error {
	switch {
	case t.GetCooSparse() != nil:
		return errors.New("a sparse tensor, which no request can carry: export its indices, values and dense shape as tensors")
	case t.GetCompositeTensor() != nil:
		return errors.New("a composite tensor, which no request can carry: export its components, such as the values and row splits of a ragged one")
	}
	return fmt.Errorf("tensor %q, which the graph lacks", t.GetName())
}

// signaturePlans plans each signature.
func (s *Session) signaturePlans() ([]*plan, error) {
	var plans []*plan
	for _, key := range slices.Sorted(maps.Keys(s.sigs)) {
		feeds, fetches := map[string]*tensor.Tensor{}, []string{}
		for _, t := range s.sigs[key].GetInputs() {
			feeds[t.GetName()] = nil
		}
		for _, alias := range slices.Sorted(maps.Keys(s.sigs[key].GetOutputs())) {
			fetches = append(fetches, s.sigs[key].GetOutputs()[alias].GetName())
		}
		p, err := s.plan(feeds, fetches)
		if err != nil {
			return nil, fmt.Errorf("signature %q: %w", key, err)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// initialise runs the init ops.
func (s *Session) initialise(ctx context.Context, mg *savedmodel.MetaGraph) error {
	if len(mg.InitOps) == 0 {
		return nil
	}
	feeds := map[string]*tensor.Tensor{}
	for _, a := range mg.Assets {
		o, ok := outputOf(s.graph, a.Tensor)
		if !ok {
			return fmt.Errorf("asset %s: tensor %q is not in the graph", filepath.Base(a.Path), a.Tensor)
		}
		sizes := make([]int, max(o.Shape().Rank(), 0)) // a scalar, or a vector of one element
		for i := range sizes {
			sizes[i] = 1
		}
		t, err := tensor.FromStrings([][]byte{[]byte(a.Path)}, sizes...)
		if err != nil {
			return err
		}
		feeds[a.Tensor] = t
	}
	return s.once(ctx, feeds, mg.InitOps...)
}

// once runs nodes for their effects.
func (s *Session) once(ctx context.Context, feeds map[string]*tensor.Tensor, targets ...string) error {
	var names []string
	for name := range feeds {
		names = append(names, name)
	}
	slices.Sort(names)
	p, err := s.newPlan(names, nil, targets)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, stop := context.WithTimeout(ctx, startLimit)
	defer stop()
	_, err = p.run(ctx, feeds)
	return err
}
