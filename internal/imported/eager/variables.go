package eager

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/tensor"
)

// variableOps read, assign and restore variables.
var variableOps = map[*ops.Def]maker{
	ops.VarHandleOp:           varHandle,
	ops.ReadVariableOp:        readVariable,
	ops.AssignVariableOp:      assignVariable,
	ops.AssignAddVariableOp:   plain(assignBy(addition)),
	ops.AssignSubVariableOp:   plain(assignBy(subtraction)),
	ops.AssignAdd:             plain(assignBy(addition)),
	ops.AssignSub:             plain(assignBy(subtraction)),
	ops.CountUpTo:             countUpTo,
	ops.ResourceCountUpTo:     countUpTo,
	ops.VarIsInitializedOp:    plain(isInitialized),
	ops.IsVariableInitialized: plain(isInitialized),
	ops.VariableV2:            varHandle,
	ops.Variable:              varHandle,
	ops.Assign:                assignRef,
	ops.RestoreV2:             restore,
	ops.Assert:                assert,
	ops.DestroyResourceOp:     plain(func(call) error { return nil }),
}

// variableOf returns a function that finds the node's variable.
func variableOf(s *site) func(c call) (Variable, error) {
	name := s.str("shared_name", "")
	if name == "" {
		name = s.node.Name
	}
	name = ResourceKey(s.str("container", ""), name)
	return func(c call) (Variable, error) {
		if c.env == nil || c.env.Resources == nil {
			return nil, errors.New("variables need Env.Resources")
		}
		return c.env.Resources.Variable(name), nil
	}
}

// anonymous is the shared_name of TensorFlow's unnamed variables: each run of a VarHandleOp makes a new one.
const anonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

func varHandle(s *site) (kernel, error) {
	if s.str("shared_name", "") == anonymous {
		return func(c call) error {
			c.out[0] = Value{Resource: newHostVariable(anonymous)}
			return nil
		}, nil
	}
	find := variableOf(s)
	return func(c call) error {
		v, err := find(c)
		c.out[0] = Value{Resource: v}
		return err
	}, nil
}

func readVariable(s *site) (kernel, error) {
	d := s.dtype("dtype", tensor.Invalid)
	return func(c call) error {
		t, err := load(c.in[0])
		if err != nil {
			return err
		}
		if d != tensor.Invalid && t.DType != d {
			return fmt.Errorf("expected a variable of type %v, got %v", d, t.DType)
		}
		c.set(0, t)
		return nil
	}, nil
}

// store replaces the value of a variable; with sameShape, its shape must not change.
func store(v Value, t *tensor.Tensor, sameShape bool) error {
	variable, ok := v.Resource.(Variable)
	if !ok {
		return fmt.Errorf("expected a variable, got %T", v.Resource)
	}
	return variable.Update(func(old *tensor.Tensor) (*tensor.Tensor, error) {
		if old != nil && (old.DType != t.DType || sameShape && !slices.Equal(old.Shape, t.Shape)) {
			return nil, fmt.Errorf("cannot assign %v of shape %v to a variable of %v and shape %v", t.DType, t.Shape, old.DType, old.Shape)
		}
		return t, nil
	})
}

func assignVariable(s *site) (kernel, error) {
	strict := s.boolean("validate_shape", false)
	return func(c call) error { return store(c.in[0], c.t(1), strict) }, nil
}

func assignRef(s *site) (kernel, error) {
	strict := s.boolean("validate_shape", true)
	return func(c call) error {
		c.forward()
		return store(c.in[0], c.t(1), strict)
	}, nil
}

// assignBy changes all elements of a variable.
func assignBy(how change) kernel {
	return func(c call) error {
		c.forward()
		return c.edit(c.in[:1], func(values []*tensor.Tensor) error {
			v := values[0]
			if !slices.Equal(v.Shape, c.t(1).Shape) {
				return fmt.Errorf("cannot update a variable of shape %v with a tensor of shape %v", v.Shape, c.t(1).Shape)
			}
			return how.slices(v, []int{0}, c.t(1), v.Len())
		})
	}
}

// countUpTo outputs the value of a counter and adds one to it, up to a limit.
func countUpTo(s *site) (kernel, error) {
	limit := int64(s.node.Int("limit", 0))
	return func(c call) error {
		return c.edit(c.in[:1], func(values []*tensor.Tensor) error {
			n, err := integer("counter", values[0])
			if err != nil {
				return err
			}
			if int64(n) >= limit {
				return fmt.Errorf("%w: Reached limit of %d", ErrRange, limit)
			}
			if err := c.scalarInt(0, values[0].DType, n); err != nil {
				return err
			}
			return setInts(values[0], []int{n + 1})
		})
	}, nil
}

func isInitialized(c call) error {
	_, err := load(c.in[0])
	if err != nil && !errors.Is(err, ErrUninitialized) {
		return err
	}
	c.set(0, tensor.Scalar(err == nil))
	return nil
}

func restore(s *site) (kernel, error) {
	types := list[tensor.DType](s, "dtypes")
	s.outputs = len(types)
	return func(c call) error {
		prefix, err := filePath("prefix", c.t(0))
		if err != nil {
			return err
		}
		names, specs := c.t(1).Strings, c.t(2).Strings
		if len(names) != len(types) || len(specs) != len(types) {
			return fmt.Errorf("expected %d names and slices, got %d and %d", len(types), len(names), len(specs))
		}
		r, err := c.checkpoint(prefix)
		if err != nil {
			return err
		}
		defer r.Close()
		sliced := map[string]*tensor.Tensor{} // may have many slices
		for i, name := range names {
			t, err := c.stored(r, string(name), len(specs[i]) == 0, sliced)
			if errors.Is(err, bundle.ErrNotFound) { // Python searches for this text
				return fmt.Errorf("Key %s not found in checkpoint: %w", clip(name), bundle.ErrNotFound)
			}
			if err != nil {
				return err
			}
			if t.DType != types[i] {
				return fmt.Errorf("tensor_name = %s; expected dtype %s does not equal original dtype %s", clip(name), typeText(types[i]), typeText(t.DType))
			}
			if err := c.restored(i, t, string(specs[i])); err != nil {
				return fmt.Errorf("tensor %q, slice %q: %w", name, specs[i], err)
			}
			if len(specs[i]) > 0 {
				sliced[string(name)] = t
			}
		}
		return nil
	}, nil
}

// stored reads a tensor of a checkpoint, unless it was already read for a slice.
func (c call) stored(r checkpointReader, name string, whole bool, sliced map[string]*tensor.Tensor) (*tensor.Tensor, error) {
	if t := sliced[name]; t != nil && !whole {
		return t, nil
	}
	if err := c.restoring(r, name); err != nil {
		return nil, err
	}
	return r.Tensor(name)
}

// restoring pays for a tensor of a checkpoint, which may be named repeatedly, and lets the Env count it; it fails if either refuses.
func (c call) restoring(r checkpointReader, name string) error {
	known, ok := r.(interface {
		Lookup(name string) (bundle.Info, bool)
	})
	if !ok {
		return nil // their reader pays
	}
	info, ok := known.Lookup(name)
	if !ok {
		return nil // reading it returns the error
	}
	n := tensor.NumElements(info.Shape) * info.DType.Size()
	if info.DType == tensor.String {
		n = tensor.NumElements(info.Shape)*stringHeader + int(info.Bytes)
	}
	if err := c.countRestored(n); err != nil {
		return fmt.Errorf("tensor_name = %s: %w", clip([]byte(name)), err)
	}
	return c.pay(n)
}

func (c call) countRestored(bytes int) error {
	if c.env.Restoring == nil {
		return nil
	}
	return c.env.Restoring(int64(bytes))
}

// restored sets output i to a tensor of a checkpoint, or to a slice of it.
func (c call) restored(i int, t *tensor.Tensor, spec string) error {
	if t.DType == tensor.Bool {
		tensor.NormalizeBools(t.Bytes)
	}
	if spec == "" {
		c.set(i, t)
		return nil
	}
	part := call{ctx: c.ctx, env: c.env, out: c.out[i : i+1]}
	if err := part.sliceSpec(t, spec); err != nil {
		return err
	}
	return c.countRestored(len(c.out[i].T.Bytes))
}

// sliceSpec sets output 0 to the part of t in a spec like "4 10 0,2:-":
// the full shape, then start,length or - for each dimension.
func (c call) sliceSpec(t *tensor.Tensor, spec string) error {
	words := strings.Fields(spec)
	if len(words) != len(t.Shape)+1 {
		return fmt.Errorf("expected a size for each dimension of %v, then a slice", t.Shape)
	}
	parts := strings.Split(words[len(t.Shape)], ":")
	if len(parts) != len(t.Shape) {
		return fmt.Errorf("expected %d dimensions", len(t.Shape))
	}
	from, shape := contiguous(t.Shape), slices.Clone(t.Shape)
	for k, p := range parts {
		if size, err := strconv.Atoi(words[k]); err != nil || size != t.Shape[k] {
			return fmt.Errorf("expected the full shape %v", t.Shape)
		}
		if p == "-" {
			continue
		}
		a, b, _ := strings.Cut(p, ",")
		start, err1 := strconv.Atoi(a)
		size, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || start < 0 || size < 0 || start > t.Shape[k] || size > t.Shape[k]-start {
			return fmt.Errorf("%q is not in dimension %d of %v", p, k, t.Shape)
		}
		shape[k] = size
		from.base += start * from.steps[k]
	}
	return c.box(t, shape, from)
}

func assert(s *site) (kernel, error) {
	most := s.node.Int("summarize", 3)
	return func(c call) error {
		if len(c.in) == 0 {
			return fmt.Errorf("expected a condition")
		}
		if err := want("condition", c.t(0), tensor.Bool); err != nil {
			return err
		}
		if len(c.t(0).Shape) != 0 {
			return fmt.Errorf("in[0] should be a scalar: %v", c.t(0).Shape)
		}
		if tensor.Values[bool](c.t(0))[0] {
			return nil
		}
		var b strings.Builder
		b.WriteString("assertion failed: ")
		for i, v := range c.in[1:] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(shownValues(v.T, most))
		}
		return errors.New(b.String())
	}, nil
}

// shownValues formats the first elements of a tensor.
func shownValues(t *tensor.Tensor, most int) string {
	n := t.Len()
	if most >= 0 {
		n = min(n, most)
	}
	var parts []string
	for i := range n {
		switch t.DType {
		case tensor.String:
			parts = append(parts, string(clip(t.Strings[i])))
		case tensor.Bool:
			parts = append(parts, strconv.Itoa(int(t.Float(i))))
		case tensor.Int64:
			parts = append(parts, strconv.FormatInt(tensor.Values[int64](t)[i], 10))
		default:
			parts = append(parts, strconv.FormatFloat(t.Float(i), 'g', -1, 32))
		}
	}
	more := ""
	if n < t.Len() {
		more = "..."
	}
	return "[" + strings.Join(parts, " ") + more + "]"
}
