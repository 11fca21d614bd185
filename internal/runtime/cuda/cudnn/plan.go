package cudnn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
)

// errNoEngine means that cuDNN has no acceptable engine for a problem.
var errNoEngine = errors.New("cuDNN has no engine for this convolution")

const (
	workspaceLimit = 256 << 20 // bytes, for an engine
	candidates     = 64        // engines tried for each query of the heuristics
)

// plan is an engine prepared for a problem.
type plan struct {
	*builder   // of its descriptors
	plan       descriptor
	workspace  int // bytes
	layout     layout
	bias, relu bool // done by the engine, otherwise by the epilogue
}

// newPlan asks the heuristics, for all layouts of the problem, then asks for the fallback engines. If no engine takes the
// graph with bias or relu, it asks for the convolution alone.
func newPlan(n *native, p problem) (*plan, error) {
	graphs := []problem{p}
	if p.bias || p.relu {
		plain := p
		plain.bias, plain.relu = false, false
		graphs = append(graphs, plain)
	}
	for _, g := range graphs {
		for _, mode := range []int{heuristicA, heuristicFallback} {
			for _, l := range p.layouts() {
				found, err := search(n, g, l, mode)
				if found != nil || err != nil && !unsupported(err) {
					return found, err
				}
			}
		}
	}
	return nil, errNoEngine
}

// search returns a plan of the first acceptable engine, nil if there is none.
func search(n *native, p problem, l layout, mode int) (*plan, error) {
	all := &builder{native: n}
	graph := all.graph(p, l)
	heuristic := all.add(kindHeuristic, descriptors(heuristicGraph, graph), enum(heuristicMode, typeHeuristicMode, mode))
	if all.err != nil {
		all.destroyAll()
		return nil, all.err
	}
	configs, err := n.children(heuristic, heuristicResults, kindEngineConfig, candidates)
	if err != nil {
		all.destroyAll()
		return nil, err
	}
	all.made = append(all.made, configs...)
	for _, c := range configs {
		if d, bytes := ready(n, p, c); d != 0 {
			all.made = append(all.made, d)
			return &plan{builder: all, plan: d, workspace: bytes, layout: l, bias: p.bias, relu: p.relu}, nil
		}
	}
	all.destroyAll()
	return nil, nil
}

// ready makes the plan of an engine. It returns 0 if the engine is not acceptable or the plan cannot be made.
func ready(n *native, p problem, config descriptor) (descriptor, int) {
	engines, err := n.children(config, configEngine, kindEngine, 1)
	if err != nil || len(engines) == 0 {
		return 0, 0
	}
	defer n.destroy(engines[0])
	numerical, err := n.numbers(engines[0], engineNotes, typeNumericalNote, 4, notes)
	if err != nil || !p.takes(numerical) {
		return 0, 0
	}
	d, err := n.create(kindPlan, pointers(planHandle, typeHandle, n.handle), descriptors(planConfig, config))
	if err != nil {
		return 0, 0
	}
	bytes, err := n.numbers(d, planWorkspace, typeInt64, 8, 1)
	if err != nil || len(bytes) != 1 || bytes[0] > workspaceLimit {
		n.destroy(d)
		return 0, 0
	}
	return d, int(bytes[0])
}

// takes reports whether an engine with these numerical notes gives the same bits from run to run, and rounds no more than
// the problem allows.
func (p problem) takes(numerical []int64) bool {
	refused := []int64{noteNondeterminist, noteDownConvert, noteReducedSums, noteWinograd6x6, noteWinograd13x13}
	if !p.bfloat16 {
		refused = append(refused, noteFFT)
		if !p.tf32 {
			refused = append(refused, noteTensorCore)
		}
	}
	return !slices.ContainsFunc(numerical, func(n int64) bool { return slices.Contains(refused, n) })
}

// run issues the plan. The tensors at the addresses are in cuDNN's layout.
func (p *plan) run(c lower.Convolution, filter, workspace uint64, stream uintptr) error {
	ids, places := []int64{idX, idW, idY}, []uint64{uint64(c.X), filter, uint64(c.Y)}
	if p.bias {
		ids, places = append(ids, idBias), append(places, uint64(c.Bias))
	}
	pack, err := p.create(kindVariantPack, int64s(packIDs, ids...), pointers(packPointers, typePointer, places...), pointers(packWorkspace, typePointer, workspace))
	if err != nil {
		return fmt.Errorf("convolution by cuDNN: %w", err)
	}
	defer p.destroy(pack)
	if err := p.execute(p.plan, pack, stream); err != nil {
		return fmt.Errorf("convolution by cuDNN: %w", err)
	}
	return nil
}
