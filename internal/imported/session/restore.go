package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/tensor"
)

// restore runs the saver's restore op on the model's variables.
func (s *Session) restore(ctx context.Context, mg *savedmodel.MetaGraph) error {
	saver := mg.Proto.GetSaverDef()
	r, err := mg.Variables()
	if err != nil || r == nil || saver.GetRestoreOpName() == "" {
		return err
	}
	s.env.Restoring = restoresOf(r)
	defer func() { s.env.Restoring = nil }() // requests pay for what they restore
	defer r.Close()
	if err := s.holds(r); err != nil {
		return err
	}
	op, _, _ := split(saver.GetRestoreOpName())
	prefix := []byte(filepath.Join(mg.Dir, savedmodel.VariablesPrefix))
	t, err := tensor.FromStrings([][]byte{prefix})
	if err != nil {
		return err
	}
	if err := s.once(ctx, map[string]*tensor.Tensor{saver.GetFilenameTensorName(): t}, op); err != nil {
		return err
	}
	return s.restoreObjects(mg, r)
}

// restoreObjects restores variables that the restore op leaves unset, using the object graph of the program that saved the model: the
// restore op of a compiled Keras 3 model restores copies of its variables.
func (s *Session) restoreObjects(mg *savedmodel.MetaGraph, r *bundle.Reader) error {
	keys, err := mg.VariableKeys(r)
	if err != nil {
		return err
	}
	for _, node := range slices.Sorted(maps.Keys(keys)) {
		n := s.graph.Node(node)
		if n == nil || n.Op != ops.VarHandleOp.Name || s.vars.value(key(n)) != nil {
			continue
		}
		if err := s.restoreObject(n, r, keys[node]); err != nil {
			return fmt.Errorf("variable %q: %w", key(n), err)
		}
	}
	return nil
}

// restoreObject sets a node's variable to the tensor of that name, if the checkpoint has it.
func (s *Session) restoreObject(n *graph.Node, r *bundle.Reader, name string) error {
	info, ok := r.Lookup(name)
	if !ok {
		return nil // readers of the variable report it
	}
	if d, ok := n.Attrs["dtype"].(tensor.DType); ok && d != info.DType {
		return fmt.Errorf("the checkpoint has %v at %q: expected %v", info.DType, name, d)
	}
	if err := s.env.Restoring(memoryOf(info)); err != nil {
		return err
	}
	t, err := r.Tensor(name)
	if err != nil {
		return err
	}
	if t.DType == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	return s.env.Resources.Variable(key(n)).Update(func(*tensor.Tensor) (*tensor.Tensor, error) { return t, nil })
}

// forgetUnread drops the variables that neither a signature nor an init op reaches, such as an optimizer's. inner has the functions.
func (s *Session) forgetUnread(mg *savedmodel.MetaGraph, inner []function) {
	restore, _, _ := split(mg.Proto.GetSaverDef().GetRestoreOpName())
	var from []*graph.Node
	for _, name := range roots(mg) {
		if n := s.graph.Node(name); n != nil && name != restore {
			from = append(from, n)
		}
	}
	nodes := slices.Collect(maps.Keys(graph.Reachable(from...)))
	for _, f := range inner {
		nodes = append(nodes, f.graph.Nodes()...)
	}
	read := map[string]bool{}
	for _, n := range nodes {
		if n.Op == ops.VarHandleOp.Name {
			read[key(n)] = true
		}
	}
	s.env.Resources.Keep(func(variable string) bool { return read[variable] })
}

// restoresOf returns a function that refuses to restore variables more than twice, since a graph may name a large one very often.
func restoresOf(r *bundle.Reader) func(bytes int64) error {
	stored := int64(0)
	for _, v := range r.List() {
		stored += min(memoryOf(v), math.MaxInt64/4-stored)
	}
	left := 2*stored + restoresBesides
	var mu sync.Mutex
	return func(bytes int64) error {
		mu.Lock()
		defer mu.Unlock()
		if left -= bytes; left < 0 {
			return errors.New("the variables are restored more than twice: the model would take a multiple of what its files have")
		}
		return nil
	}
}

// memoryOf returns the memory of a checkpoint's tensor.
func memoryOf(v bundle.Info) int64 {
	if v.DType == tensor.String {
		return v.Bytes + int64(tensor.NumElements(v.Shape))*stringHeader
	}
	return v.Bytes
}

// stringHeader is the memory of a string besides its bytes.
const stringHeader = 24

// restoresBesides are bytes that may be restored in addition, since small variables may well be named often.
const restoresBesides = 64 << 20

// holds fails if there is less memory than the variables need: reading them would end the process.
func (s *Session) holds(r *bundle.Reader) error {
	most := s.options.Memory
	if most == 0 {
		total, ok := hostmemory.Total()
		if !ok {
			return nil
		}
		most = total
	}
	need := int64(0)
	for _, v := range r.List() {
		if need += v.Bytes; need > most || need < 0 {
			return fmt.Errorf("its variables do not fit: those up to %q take %d bytes, and there are %d", v.Name, need, most)
		}
	}
	return nil
}
