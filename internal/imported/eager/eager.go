package eager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/tensor"
)

// Value is what an edge carries: a tensor, or something opaque (a Variable, a
// *Table, a list of tensors). Tensors are
// immutable: outputs may alias inputs, constants and variables.
type Value struct {
	T        *tensor.Tensor
	Resource any
}

// DefaultLimit is the maximum size of one output tensor, in bytes, if Env sets none.
const DefaultLimit = 1 << 30

// Env is what nodes need besides their inputs. It may be shared by concurrent runs.
type Env struct {
	// Limit is the maximum number of bytes of one output tensor (of a string
	// tensor: its slice headers and new bytes); 0 means DefaultLimit.
	Limit int64
	// Resources holds variables, tables and queues between runs; nil: there are none.
	Resources *Resources
	// Session names the session of the run, which owns its queues that have no shared name.
	Session string
	// Open opens a file that a node names (vocabularies); nil: no files.
	Open func(path string) (io.ReadCloser, error)
	// Functions are the functions that branches and loops call, by name.
	Functions map[string]*Function
	// Bundle opens a checkpoint that a RestoreV2 names; the caller
	// closes it. nil: there are no checkpoints.
	Bundle func(prefix string) (*bundle.Reader, error)
	// Restoring is called before so many bytes of a checkpoint are read, and may refuse; nil: all are read.
	Restoring func(bytes int64) error
	// Files returns the file system to write files below a path on, or an error
	// if that is not allowed; nil: no files are written.
	Files func(path string) (atomicfile.FS, error)
	// Here reports whether a device name, whole or in part, is on this
	// task; nil: all devices are.
	Here func(device string) (bool, error)
	// Graph runs a serialized GraphDef, and returns the input of its _Retval node; nil: graphs are not supported.
	Graph func(ctx context.Context, env *Env, def []byte) (Value, error)
	// Payer pays for what is allocated.
	Payer Payer
	// Room is where passes over datasets of this run keep elements. They end with the run, and nothing runs in the background. If it is
	// nil, passes outlive the run, and share the Resources' room.
	Room *dataset.Room
	// Ran, if not nil, is called after a node has run, with its start time and its outputs, which it must not keep.
	Ran func(n *graph.Node, began time.Time, out []Value)
}

// Kernel computes one node: it reads in and sets out, in the op's order. It is safe for
// concurrent use. out may be shorter than the op's outputs: the rest is dropped.
type Kernel func(ctx context.Context, env *Env, in, out []Value) error

// Errors that callers tell apart; they are wrapped in an *Error.
var (
	// ErrUnsupported says that there is no kernel for an op or a type.
	ErrUnsupported = errors.New("not supported")
	// ErrLimit says that an output would be larger than Env.Limit.
	ErrLimit = errors.New("tensor too large")
	// ErrUninitialized says that a variable or table was used before it got a value.
	ErrUninitialized = errors.New("not initialized")
	// ErrRange says that there are no more elements, as at the end of a queue.
	ErrRange = errors.New("out of range")
	// ErrFed says that a placeholder was run instead of fed.
	ErrFed = errors.New("must be fed")
)

// Error says which node failed.
type Error struct {
	Node, Op string
	Err      error
}

// longestCause bounds the bytes of the cause in an Error's text: it may contain shapes and texts from requests and damaged models.
const longestCause = 1024

// Error names the node and op.
func (e *Error) Error() string {
	return fmt.Sprintf("node %q (%s): %s", e.Node, e.Op, printable.Short(e.Err.Error(), longestCause))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Supported reports whether there is a kernel for the TensorFlow op.
func Supported(op string) bool { return registry()[op] != nil }

// Run computes one node. It is Prepare followed by a call of the kernel.
func Run(ctx context.Context, n *graph.Node, in []Value, env *Env) ([]Value, error) {
	p, err := prepare(n, nil)
	if err != nil {
		return nil, err
	}
	out := make([]Value, p.outputs)
	if err := p.run(ctx, env, in, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Prepare resolves the kernel and attributes of a node, so that running it
// needs no lookups.
func Prepare(n *graph.Node) (Kernel, error) {
	p, err := prepare(n, nil)
	if err != nil {
		return nil, err
	}
	return p.run, nil
}

// Outputs returns the number of outputs of a node, from its op and attributes.
func Outputs(n *graph.Node) (int, error) {
	p, err := prepare(n, nil)
	if err != nil {
		return 0, err
	}
	return p.outputs, nil
}

// prepared is a node with its kernel.
type prepared struct {
	node    *graph.Node
	def     *opDef
	outputs int
	kernel  kernel
	grows   bool
}

func prepare(n *graph.Node, g *Generators) (p *prepared, err error) {
	defer rescue(n, &err)
	def := registry()[n.Op]
	if def == nil {
		return nil, &Error{n.Name, n.Op, unsupported(n.Op)}
	}
	s := &site{node: n, outputs: def.out, generators: g}
	k, err := def.make(s)
	if err == nil {
		err = s.err
	}
	if err != nil {
		return nil, &Error{n.Name, n.Op, err}
	}
	return &prepared{node: n, def: def, outputs: s.outputs, kernel: k, grows: def.op.Grows}, nil
}

// unsupported is the error of an op without a kernel.
func unsupported(op string) error {
	switch {
	case op == "PyFunc", op == "PyFuncStateless", op == "EagerPyFunc":
		return fmt.Errorf("op %w: it calls a function of the client's Python process; call it there and feed what it returns, or use ops of TensorFlow", ErrUnsupported)
	case strings.HasPrefix(op, "Collective"):
		return fmt.Errorf("collective op %w: use parameter servers (ParameterServerStrategy) in place of MultiWorkerMirroredStrategy", ErrUnsupported)
	default:
		return fmt.Errorf("op %w", ErrUnsupported)
	}
}

// run checks the inputs and calls the kernel.
func (p *prepared) run(ctx context.Context, env *Env, in, out []Value) (err error) {
	defer rescue(p.node, &err)
	if in, err = p.values(in); err != nil {
		return &Error{p.node.Name, p.node.Op, err}
	}
	res := out
	if len(out) < p.outputs {
		res = make([]Value, p.outputs)
	}
	c := call{ctx: ctx, env: env, in: in, out: res[:p.outputs], grows: p.grows}
	if env.counted() && env.Payer.Lasting {
		c.lent = new(int)
		defer c.settle()
	}
	if err := p.kernel(c); err != nil {
		return &Error{p.node.Name, p.node.Op, err}
	}
	if len(out) < p.outputs {
		copy(out, res)
	}
	return nil
}

// values checks the inputs. It reads reference variables that are used as tensors.
func (p *prepared) values(in []Value) ([]Value, error) {
	if p.def.in >= 0 && len(in) != p.def.in {
		return nil, fmt.Errorf("expected %d inputs, got %d", p.def.in, len(in))
	}
	own := false
	for i := range in {
		if t := in[i].T; t != nil && wide(t) && !takesWide(p.def.op) {
			return nil, fmt.Errorf("input %d of shape %v: %w, although it is empty", i, t.Shape, ErrLimit)
		}
		switch {
		case i < p.def.resources:
			if in[i].Resource == nil {
				return nil, fmt.Errorf("input %d: expected a resource", i)
			}
		case in[i].T != nil || p.def.op.Opaque || p.def.op.Lists && variant(in[i]):
		case in[i].Resource == nil:
			return nil, fmt.Errorf("input %d has no value", i)
		default:
			t, err := load(in[i])
			if err != nil {
				return nil, fmt.Errorf("input %d: %w", i, err)
			}
			if !own {
				in, own = slices.Clone(in), true
			}
			in[i] = Value{T: t}
		}
	}
	return in, nil
}

// errPanic is wrapped by the error for a kernel's panic. Tests treat it as a defect.
var errPanic = errors.New("inputs or attributes do not fit")

// rescue turns a panic of a kernel into an error.
func rescue(n *graph.Node, err *error) {
	if r := recover(); r != nil {
		*err = &Error{n.Name, n.Op, fmt.Errorf("%w: %v", errPanic, r)}
	}
}

// limit returns the maximum bytes of an output.
func (e *Env) limit() int {
	if e == nil || e.Limit <= 0 {
		return DefaultLimit
	}
	return int(min(e.Limit, math.MaxInt))
}
