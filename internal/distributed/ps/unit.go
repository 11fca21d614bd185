package ps

import (
	"context"
	"encoding/binary"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"
	"math"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// unit is one part of a variable on its server: value, slots, shared scalars,
// and the programs that update them. Units share no lock.
type unit struct {
	number int // in the plan
	Unit
	v     *Variable
	shape []int // of the value and the slots

	dev   device.Device
	vars  *engine.Variables
	train *optimizers.TrainOp // restricted to this unit; nil: never trained
	byRow bool                // a sparse gradient changes only its rows
	idle  bool                // an empty sparse gradient changes nothing
	// counts: updates depend on how many there were, not on the step at which a gradient was computed.
	counts bool
	field  []field

	mu            sync.Mutex // held by updates, and while the value is copied
	dense, sparse *engine.Program
	version       uint64 // of the value, from 1
	updates       int64  // the global step in this unit's view
	images        images
	frozen        *frozen
}

// field is a tensor of a unit: 0 is the value, followed by slots and scalars.
type field struct {
	name   string // among the unit's variables
	slot   Slot   // of a slot or scalar
	bytes  int
	scalar bool // shared by the group, not of the variable's shape
}

// newUnit makes a unit whose value is zero and whose slots have their initial values.
func newUnit(p *Plan, number int, dev device.Device, step int64) (*unit, error) {
	s := p.units[number]
	v := &p.Variables[s.Variable]
	u := &unit{number: number, Unit: s, v: v, shape: p.shapeOf(s), dev: dev, version: 1, updates: step}
	var err error
	if u.vars, err = engine.NewVariables(dev); err != nil {
		return nil, err
	}
	part := &models.Variable{Name: v.Name, DType: v.DType, Shape: u.shape}
	bytes := int(sizeOf(v.DType, u.shape))
	u.field = []field{{name: v.Name, bytes: bytes}}
	if v.Group >= 0 {
		u.train = p.Rules.trainOp(v.Group, part)
		u.byRow = p.Rules.byRow(v.Group)
		u.counts = p.Rules.counted(v.Group)
		u.idle = u.byRow && len(v.Shared) == 0
		// TrainOp.Slots lists scalars before the accumulator, a Variable after it.
		own := update.Slots(u.train)
		slots, shared, _ := p.Rules.counts(v.Group, v.DType)
		order := append(append(own[:slots:slots], own[slots+shared:]...), own[slots:slots+shared]...)
		for i, o := range order {
			f := field{name: o.Name, bytes: bytes}
			if i < len(v.Slots) {
				f.slot = v.Slots[i]
			} else {
				f.slot, f.scalar, f.bytes = v.Shared[i-len(v.Slots)], true, o.Type.DType.Size()
			}
			f.slot.DType = o.Type.DType
			u.field = append(u.field, f)
		}
	}
	for i := range u.field {
		if err := u.create(i); err != nil {
			return nil, fmt.Errorf("part %d of %s: %w", s.Part, v.Name, err)
		}
	}
	u.images.size = bytes
	return u, nil
}

// create makes a field with its initial value.
func (u *unit) create(i int) error {
	f := u.field[i]
	shape, d := u.shape, u.v.DType
	if i > 0 {
		d = f.slot.DType
	}
	if f.scalar {
		shape = nil
	}
	if err := u.vars.CreateZero(f.name, d, shape...); err != nil || f.slot.Init == 0 {
		return err
	}
	chunk := make([]byte, min(f.bytes, blockBytes))
	for at := 0; at < len(chunk); at += d.Size() {
		putFloat(d, chunk[at:], f.slot.Init)
	}
	for at := 0; at < f.bytes; at += len(chunk) {
		if err := u.vars.WriteAt(f.name, chunk[:min(len(chunk), f.bytes-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func putFloat(d tensor.DType, dst []byte, v float64) {
	switch d {
	case tensor.Float32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(v)))
	case tensor.Float64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v))
	case tensor.Int64:
		binary.LittleEndian.PutUint64(dst, uint64(int64(v)))
	}
}

// fill sets bytes of a field.
func (u *unit) fill(i, offset int, b []byte) error {
	if i < 0 || i >= len(u.field) || offset < 0 || offset > u.field[i].bytes || len(b) > u.field[i].bytes-offset {
		return fmt.Errorf("bytes %d to %d of field %d of part %d of %s do not exist", offset, offset+len(b), i, u.Part, u.v.Name)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.vars.WriteAt(u.field[i].name, b, offset)
}

// gradient is an update of a unit: dense, or rows with their numbers.
type gradient struct {
	sparse bool
	apart  bool    // rows with equal numbers must not be summed yet
	ids    []int32 // increasing, unless apart
	values []byte  // of the variable's type
}

// apply updates the unit at a global step.
func (u *unit) apply(ctx context.Context, step int64, g *gradient) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.train == nil {
		return fmt.Errorf("variable %s is not trained", u.v.Name)
	}
	if u.counts {
		step = u.updates // each push counts once
	}
	u.updates++
	if g.sparse && len(g.ids) == 0 && u.idle || len(u.shape) > 0 && u.shape[0] == 0 {
		return nil
	}
	at := tensor.Scalar(step)
	program, err := u.program(g.sparse)
	if err != nil {
		return fmt.Errorf("update of %s: %w", u.v.Name, err)
	}
	if g.sparse && u.byRow {
		err = u.preserveRows(g.ids)
	} else {
		err = u.preserve()
	}
	if err != nil {
		return err
	}
	feeds := []*tensor.Tensor{at, {DType: u.v.DType, Shape: u.shape, Bytes: g.values}}
	batch := 1
	if g.sparse {
		ids, err := tensor.FromSlice(g.ids, len(g.ids))
		if err != nil {
			return err
		}
		rows := &tensor.Tensor{DType: u.v.DType, Shape: append([]int{len(g.ids)}, u.shape[1:]...), Bytes: g.values}
		feeds, batch = []*tensor.Tensor{at, ids, rows}, len(g.ids)+1
	}
	u.version++
	if err := program.Run(ctx, batch, feeds); err != nil {
		return fmt.Errorf("update of %s: %w", u.v.Name, err)
	}
	return nil
}

// program returns the compiled update. A sparse one runs with a batch size of the number of rows plus
// one, as there may be none.
func (u *unit) program(sparse bool) (*engine.Program, error) {
	p := &u.dense
	if sparse {
		p = &u.sparse
	}
	if *p != nil {
		return *p, nil
	}
	b := graph.NewBuilder(graph.New())
	step := b.Placeholder("step", graph.Type{DType: tensor.Int64})
	feeds := []graph.Output{step}
	dense := graph.ShapeOf(u.shape...)
	var g lower.Value
	if sparse {
		n := graph.Dim{PerBatch: 1, Const: -1}
		ids := b.Placeholder("ids", graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{n}}})
		rows := b.Placeholder("rows", graph.Type{DType: u.v.DType, Shape: graph.Shape{Dims: append([]graph.Dim{n}, dense.Dims[1:]...)}})
		g = lower.SparseValue(dense, lower.Slices{Rows: rows, Indices: ids})
		feeds = append(feeds, ids, rows)
	} else {
		g.Output = b.Placeholder("gradient", graph.Type{DType: u.v.DType, Shape: dense})
		feeds = append(feeds, g.Output)
	}
	applied, err := update.Emit(u.train, b, update.Env{GlobalStep: step, Gradients: []lower.Value{g}})
	if err != nil {
		return nil, err
	}
	*p, err = engine.Compile(b.Graph, engine.Spec{Feeds: feeds, Targets: applied.Targets}, u.dev, u.vars, engine.Options{})
	return *p, err
}

// assign replaces the value.
func (u *unit) assign(value []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.preserve(); err != nil {
		return err
	}
	u.version++
	return u.vars.WriteAt(u.v.Name, value, 0)
}

// add adds float64s to the value.
func (u *unit) add(value []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.preserve(); err != nil {
		return err
	}
	sum := make([]byte, len(value))
	if err := u.vars.ReadAt(u.v.Name, sum, 0); err != nil {
		return err
	}
	for i := 0; i < len(sum); i += 8 {
		x := math.Float64frombits(binary.LittleEndian.Uint64(sum[i:])) + math.Float64frombits(binary.LittleEndian.Uint64(value[i:]))
		binary.LittleEndian.PutUint64(sum[i:], math.Float64bits(x))
	}
	u.version++
	return u.vars.WriteAt(u.v.Name, sum, 0)
}

// readRows copies rows of the value into dst.
func (u *unit) readRows(ids []int32, dst []byte) error { return u.vars.ReadRows(u.v.Name, ids, dst) }
