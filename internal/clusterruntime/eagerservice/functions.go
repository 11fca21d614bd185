package eagerservice

import (
	"os"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// maxFunctions bounds the functions of a context.
	maxFunctions = 1 << 16
	// maxFunctionBytes bounds their size.
	maxFunctionBytes = 1 << 30
)

// functions are the functions that a client has registered, by name.
type functions struct {
	mu    sync.Mutex
	all   map[string]registered
	bytes int
	over  bool            // the context has ended
	payer *budget.Account // nil: not counted
}

// functionCost is the approximate memory of a function as a multiple of its FunctionDef's size.
const functionCost = 8

// registered is a function. Parts of divided functions include the functions that they call.
type registered struct {
	def   *function_go_proto.FunctionDef
	calls map[string]*function_go_proto.FunctionDef
	part  bool
	size  int
}

// add registers a function. The same function may be registered again.
func (f *functions) add(def *function_go_proto.FunctionDef, library *function_go_proto.FunctionDefLibrary, part bool) error {
	name := def.GetSignature().GetName()
	if name == "" {
		return status.Error(codes.InvalidArgument, "expected a function with a name")
	}
	r := registered{def: def, part: part, size: proto.Size(def) + proto.Size(library)}
	if len(library.GetFunction()) > 0 {
		r.calls = make(map[string]*function_go_proto.FunctionDef, len(library.GetFunction()))
		for _, fn := range library.GetFunction() {
			r.calls[fn.GetSignature().GetName()] = fn
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old, ok := f.all[name]; ok {
		if proto.Equal(old.def, def) {
			return nil
		}
		return status.Errorf(codes.InvalidArgument, "Cannot add function '%s' because a different function with the same name already exists.", name)
	}
	if len(f.all) >= maxFunctions || r.size > maxFunctionBytes-f.bytes {
		return status.Errorf(codes.ResourceExhausted, "function %q of %d bytes: the context has %d functions with %d bytes, at most %d with %d bytes are possible", name, r.size, len(f.all), f.bytes, maxFunctions, maxFunctionBytes)
	}
	if f.over {
		return status.Error(codes.Aborted, errClosed.Error())
	}
	if err := f.payer.ReserveModel(functionCost * r.size); err != nil {
		return err
	}
	if f.all == nil {
		f.all = map[string]registered{}
	}
	f.all[name] = r
	f.bytes += r.size
	return nil
}

// remove forgets a function.
func (f *functions) remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.all[name]
	if !ok {
		return noFunction(name)
	}
	f.bytes -= r.size
	f.payer.ReleaseModel(functionCost * r.size)
	delete(f.all, name)
	return nil
}

// clear forgets all functions when the context ends.
func (f *functions) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.payer.ReleaseModel(functionCost * f.bytes)
	f.all, f.bytes, f.over = nil, 0, true
}

// get returns a function.
func (f *functions) get(name string) (registered, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.all[name]
	if !ok {
		return r, noFunction(name)
	}
	return r, nil
}

// noFunction returns an error with TensorFlow's text and code.
func noFunction(name string) error {
	host, _ := os.Hostname() // only for the text
	return status.Errorf(codes.NotFound, "'%s' is neither a type of a primitive operation nor a name of a function registered in binary running on %s. Make sure the operation or function is registered in the binary running in this process.", name, host)
}

// library returns r with all functions that it calls.
func (f *functions) library(r registered) *function_go_proto.FunctionDefLibrary {
	f.mu.Lock()
	defer f.mu.Unlock()
	lib, seen := &function_go_proto.FunctionDefLibrary{Function: []*function_go_proto.FunctionDef{r.def}}, map[string]bool{r.def.GetSignature().GetName(): true}
	for i := 0; i < len(lib.Function); i++ {
		called(lib.Function[i].GetNodeDef(), func(name string) {
			fn := r.calls[name]
			if fn == nil {
				fn = f.all[name].def
			}
			if fn != nil && !seen[name] {
				seen[name] = true
				lib.Function = append(lib.Function, fn)
			}
		})
	}
	return lib
}

// called reports the names of all functions that nodes may call.
func called(nodes []*node_def_go_proto.NodeDef, report func(name string)) {
	for _, n := range nodes {
		report(n.GetOp())
		calledBy(n.GetAttr(), report)
	}
}

// calledBy reports the functions in attributes.
func calledBy(attrs map[string]*attr_value_go_proto.AttrValue, report func(name string)) {
	for _, a := range attrs {
		if f := a.GetFunc(); f != nil {
			report(f.GetName())
			calledBy(f.GetAttr(), report)
		}
		for _, f := range a.GetList().GetFunc() {
			report(f.GetName())
			calledBy(f.GetAttr(), report)
		}
	}
}
