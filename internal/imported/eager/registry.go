package eager

import (
	"context"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// kernel computes one node; a call is passed by value so that it is not allocated.
type kernel func(c call) error

// call is one run of a kernel.
type call struct {
	ctx     context.Context
	env     *Env
	in, out []Value
	grows   bool // see growing
	lent    *int // bytes that a lasting account pays for while the kernel runs; nil: another account, or none
}

// maker resolves a node's attributes into a kernel.
type maker func(s *site) (kernel, error)

// opDef is an op, with facts of its definition that each run needs.
type opDef struct {
	op        *ops.Def
	in        int // number of inputs, -1 for any
	out       int // number of outputs; if it depends on attributes, makers set site.outputs
	resources int // number of leading inputs that are resources
	make      maker
}

func newDef(op *ops.Def, m maker) *opDef {
	d := &opDef{op: op, in: op.Arity(), out: max(op.Results(), 0), make: movingVariants(op, halved(op, m))}
	for in := op.Inputs(); !op.Opaque && d.resources < len(in) && in[d.resources].Resource(); {
		d.resources++
	}
	return d
}

// families are the tables of ops, one per file of kernels.
func families() []map[*ops.Def]maker {
	return []map[*ops.Def]maker{structureOps, shapeOps, layoutOps, exampleOps, gatherOps, generateOps, segmentOps, sparseOps, uniqueOps, stringOps, regexOps, numberTextOps, reduceOps, tableOps, variableOps, optimizerOps, scatterOps, saveOps, gradientOps, convolutionOps, poolOps, patchOps, crossOps, raggedOps, bincountOps, blockOps, linearOps, integerOps, einsumOps, scanOps, crossEntropyOps, imageOps, castOps, binaryOps, unaryOps, controlOps, listOps, queueOps, accumulatorOps, barrierOps, stagingOps, keepOps, serialOps, sparseMathOps, setOps, matrixOps, countingOps, poolSizeOps, stackOps, arrayOps, randomOps,
		sequenceOps,
		datasetOps, datasetMapOps, datasetStateOps, datasetFileOps, iteratorOps, multiDeviceOps, trainingOps,
		summaryOps, summaryWriterOps,
		readerOps, fileOps, csvOps, fusedOps, complexOps, fourierOps, audioOps, ctcOps, unicodeOps, ngramOps, countsOps, specialOps,
		codecOps, resizeOps, boxOps, colourOps, fakeQuantOps, quantizeDequantizeOps, quantizedOps, forestOps, boostedOps, decompositionOps, spectralOps, warpOps, cellOps, clusterOps, inplaceOps, approxOps, tridiagonalOps, isotonicOps, tokenOps, samplingOps, bandedOps, xlaOps, textOps, protoOps}
}

// registry has the ops of all families.
var registry = sync.OnceValue(func() map[string]*opDef {
	all := map[string]*opDef{}
	for _, f := range families() {
		for op, m := range f {
			if all[op.Name] != nil {
				panic("eager: two kernels of " + op.Name)
			}
			all[op.Name] = newDef(op, m)
		}
	}
	return all
})

// site is the node that a maker works on. Its attribute readers keep the
// first error, so that a maker need not check each one.
type site struct {
	node       *graph.Node
	outputs    int
	generators *Generators // of the graph; nil: random ops have their own states
	err        error
}

func (s *site) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// dtype returns a type attribute, or def if it is absent.
func (s *site) dtype(name string, def tensor.DType) tensor.DType {
	switch v := s.node.Attrs[name].(type) {
	case tensor.DType:
		return v
	case nil:
		return def
	}
	s.fail("attribute %s: expected a type, got %v", name, s.node.Attrs[name])
	return def
}

// count returns an attribute that must be in [0, most].
func (s *site) count(name string, def, most int) int {
	n := s.node.Int(name, def)
	if n < 0 || n > most {
		s.fail("attribute %s: expected 0 to %d, got %d", name, most, n)
		return 0
	}
	return n
}

// list returns a list attribute; an absent or empty one is nil.
func list[T any](s *site, name string) []T {
	switch v := s.node.Attrs[name].(type) {
	case []T:
		return v
	case nil, graph.EmptyList:
		return nil
	}
	s.fail("attribute %s: expected a list of another kind, got %T", name, s.node.Attrs[name])
	return nil
}

// str returns a string attribute, or def if it is absent.
func (s *site) str(name, def string) string {
	if v, ok := s.node.Attrs[name].([]byte); ok {
		return string(v)
	}
	return def
}

// boolean returns a boolean attribute, or def if it is absent.
func (s *site) boolean(name string, def bool) bool {
	if v, ok := s.node.Attrs[name].(bool); ok {
		return v
	}
	return def
}

// plain returns a maker of a kernel without attributes.
func plain(k kernel) maker { return func(*site) (kernel, error) { return k, nil } }
