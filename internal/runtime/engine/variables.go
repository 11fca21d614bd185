package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Variables are named values that live on a device from run to run, shared by all programs compiled against them.
// They are safe for concurrent use: a program that updates variables runs alone, and all others see them between its runs.
type Variables struct {
	dev    device.Device
	mu     sync.RWMutex // held by runs, for writing if the program has updates
	byName map[string]*variable

	weights  sharedWeights
	inFlight inFlight

	io     sync.Mutex // guards stream
	stream device.Stream
}

type variable struct {
	dtype tensor.DType
	shape []int
	elem  int // bytes of an element
	n     int // elements
	buf   device.Buffer
	// version changes with every update; guarded like the value.
	version uint64
	// Guarded by sharedWeights.mu:
	readers int         // number of programs and callers that use the memory
	packed  *weightsUse // the weights with the value, if the memory does not have it: see Compact
}

// memory returns the variable's storage, nil if Go kernels cannot address it.
func (v *variable) memory() []byte {
	if m, ok := v.buf.(device.Mapped); ok {
		return m.Map()
	}
	return nil
}

// NewVariables returns an empty set on dev.
func NewVariables(dev device.Device) (*Variables, error) {
	s, err := dev.NewStream()
	if err != nil {
		return nil, fmt.Errorf("variables: %w", err)
	}
	return &Variables{dev: dev, byName: map[string]*variable{}, stream: s, weights: sharedWeights{all: map[weightsKey]*weightsUse{}}}, nil
}

// Create adds a variable with a copy of the initial value. It fails if the name is taken.
func (v *Variables) Create(name string, initial *tensor.Tensor) error {
	return v.create(name, initial.DType, initial.Shape, func(x *variable) error { return v.upload(x, initial) })
}

// CreateBy adds a variable with the value that fill writes into a tensor of its type; on the host, the
// tensor is the variable's own memory. It fails if the name is taken.
func (v *Variables) CreateBy(name string, t graph.Type, fill func(*tensor.Tensor) error) error {
	return v.create(name, t.DType, t.Shape.At(0), func(x *variable) error { return v.fill(x, fill) })
}

// CreateZero adds a variable of zeros without needing a tensor of its size. It fails if the name is taken.
func (v *Variables) CreateZero(name string, d tensor.DType, shape ...int) error {
	return v.create(name, d, shape, func(*variable) error { return nil })
}

// create adds a variable of zeros, which set may replace.
func (v *Variables) create(name string, d tensor.DType, shape []int, set func(x *variable) error) error {
	if d.Size() == 0 {
		return fmt.Errorf("variable %s: type %v has no numeric elements", name, d)
	}
	x := &variable{dtype: d, shape: slices.Clone(shape), elem: d.Size(), n: tensor.NumElements(shape)}
	buf, err := v.dev.Alloc(x.n * x.elem)
	if err != nil {
		return fmt.Errorf("variable %s: %w", name, err)
	}
	x.buf = buf
	if err := set(x); err != nil {
		return errors.Join(fmt.Errorf("variable %s: %w", name, err), buf.Free())
	}
	v.lock(nil)
	defer v.mu.Unlock()
	if v.byName[name] != nil {
		return errors.Join(fmt.Errorf("variable %s already exists", name), buf.Free())
	}
	v.byName[name] = x
	return nil
}

// SetBy replaces a variable's value by what fill writes into a tensor of its type, as in CreateBy. If fill fails, the
// value may be neither the old nor the new one. Fill must not use the variables.
func (v *Variables) SetBy(name string, fill func(*tensor.Tensor) error) error {
	v.lock(nil)
	defer v.mu.Unlock()
	x := v.byName[name]
	if x == nil {
		return v.unknown(name)
	}
	x.version++
	if err := v.fill(x, fill); err != nil {
		return fmt.Errorf("set variable %s: %w", name, err)
	}
	return nil
}

// fill writes a variable's value, in place if possible.
func (v *Variables) fill(x *variable, fill func(*tensor.Tensor) error) error {
	v.weights.overwritten(x)
	if t := v.inPlace(x); t != nil {
		return fill(t)
	}
	t := tensor.New(x.dtype, x.shape...)
	if err := fill(t); err != nil {
		return err
	}
	return v.upload(x, t)
}

// inPlace returns a variable's own memory as a tensor, nil if the memory is not the host's: only a device's kernels may
// touch the device's memory, even if it is mapped.
func (v *Variables) inPlace(x *variable) *tensor.Tensor {
	if v.dev.Kind() != device.KindHost {
		return nil
	}
	return &tensor.Tensor{DType: x.dtype, Shape: slices.Clone(x.shape), Bytes: x.memory()}
}

// View calls f with a variable's value, which f must neither change nor keep. On the host the value is not copied.
func (v *Variables) View(name string, f func(*tensor.Tensor) error) error {
	v.rlock(nil)
	defer v.mu.RUnlock()
	x := v.byName[name]
	if x == nil {
		return v.unknown(name)
	}
	t, err := v.view(x)
	if err != nil {
		return err
	}
	return f(t)
}

// view returns a variable's value, without a copy on the host.
func (v *Variables) view(x *variable) (*tensor.Tensor, error) {
	v.weights.need(x)
	if t := v.inPlace(x); t != nil {
		return t, nil
	}
	return v.download(x)
}

// Type returns a variable's element type and shape, false if there is no such variable.
func (v *Variables) Type(name string) (graph.Type, bool) {
	v.rlock(nil)
	defer v.mu.RUnlock()
	x := v.byName[name]
	if x == nil {
		return graph.Type{}, false
	}
	return graph.Type{DType: x.dtype, Shape: graph.ShapeOf(x.shape...)}, true
}

// Get returns a copy of a variable's value.
func (v *Variables) Get(name string) (*tensor.Tensor, error) {
	v.rlock(nil)
	defer v.mu.RUnlock()
	x := v.byName[name]
	if x == nil {
		return nil, v.unknown(name)
	}
	return v.download(x)
}

// Set replaces a variable's value by a copy of t, which must have its type and shape.
func (v *Variables) Set(name string, t *tensor.Tensor) error {
	v.lock(nil)
	defer v.mu.Unlock()
	x := v.byName[name]
	if x == nil {
		return v.unknown(name)
	}
	if t.DType != x.dtype || !slices.Equal(t.Shape, x.shape) {
		return fmt.Errorf("set variable %s: expected %v %v, got %v %v: %w", name, x.dtype, x.shape, t.DType, t.Shape, ErrVariable)
	}
	x.version++
	return v.upload(x, t)
}

// Memory returns the bytes of the values and of the weights that programs share.
func (v *Variables) Memory() int64 {
	v.rlock(nil)
	defer v.mu.RUnlock()
	n := v.weights.memory()
	for _, x := range v.byName {
		n += int64(x.buf.Len())
	}
	return n - v.weights.givenBack()
}

// Names returns the names in alphabetical order.
func (v *Variables) Names() []string {
	v.rlock(nil)
	defer v.mu.RUnlock()
	names := make([]string, 0, len(v.byName))
	for n := range v.byName {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Snapshot returns copies of all values, taken together between updates.
func (v *Variables) Snapshot() (map[string]*tensor.Tensor, error) { return v.all(v.download) }

// Views is Snapshot without copies on the host. The values may only be read, and only before the next update or Compact.
func (v *Variables) Views() (map[string]*tensor.Tensor, error) { return v.all(v.view) }

func (v *Variables) all(read func(x *variable) (*tensor.Tensor, error)) (map[string]*tensor.Tensor, error) {
	v.rlock(nil)
	defer v.mu.RUnlock()
	all := make(map[string]*tensor.Tensor, len(v.byName))
	for n, x := range v.byName {
		t, err := read(x)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", n, err)
		}
		all[n] = t
	}
	return all, nil
}

// Close frees all values and the memory for their copies. Afterwards no variable can be created, and programs compiled
// against them must not run.
func (v *Variables) Close() error {
	v.lock(nil)
	defer v.mu.Unlock()
	var errs []error
	for _, x := range v.byName {
		errs = append(errs, x.buf.Free())
	}
	clear(v.byName)
	if c, ok := v.stream.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (v *Variables) unknown(name string) error {
	return fmt.Errorf("no variable %s among %d: %w", name, len(v.byName), ErrVariable)
}

func (v *Variables) upload(x *variable, t *tensor.Tensor) error {
	v.weights.overwritten(x)
	v.io.Lock()
	defer v.io.Unlock()
	if err := v.stream.Upload(x.buf, 0, t.Bytes); err != nil {
		return err
	}
	return v.stream.Synchronize()
}

func (v *Variables) download(x *variable) (*tensor.Tensor, error) {
	t := tensor.New(x.dtype, x.shape...)
	if v.weights.copyPacked(t.Bytes, x) {
		return t, nil
	}
	v.io.Lock()
	defer v.io.Unlock()
	if err := v.stream.Download(t.Bytes, x.buf, 0); err != nil {
		return nil, err
	}
	return t, v.stream.Synchronize()
}
