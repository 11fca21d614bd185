package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// globalStep is the variable that counts steps. It is exported even if nothing reads it.
const globalStep = "global_step"

// variable is a variable of a graph.
type variable struct {
	name      string // in the bundle
	trainable bool
	local     bool // not part of the model, so not saved
	t         graph.Type
	handle    graph.Output
	assign    *graph.Node  // initializes it; a SavedModel's loaders restore it instead
	read      graph.Output // its value
	initial   graph.Output
}

// collections returns TensorFlow's collections for the variable.
func (v variable) collections() []string {
	switch {
	case v.local:
		return []string{"local_variables", "metric_variables"}
	case v.trainable:
		return []string{"variables", "trainable_variables"}
	case v.name == globalStep:
		return []string{"variables", "global_step"}
	}
	return []string{"variables"}
}

// save adds the ops that initialise, save and restore the variables that the
// signatures need, like tf.compat.v1.train.Saver.
func (a *assembly) save(vars Variables) error {
	needed := graph.Reachable(append(a.roots(), a.step.Node)...)
	for _, n := range a.Graph.Nodes() {
		if n.Op != "VarHandleOp" || !needed[n] {
			continue
		}
		v, err := newVariable(n, vars)
		if err != nil {
			return err
		}
		if first := a.local[v.name]; first != nil {
			v.local, v.trainable = true, false
			if first.DType != v.t.DType || !graph.ShapeOf(first.Shape...).Equal(v.t.Shape) {
				return fmt.Errorf("variable %q: its first value is %v%v: expected %v%v", v.name, first.DType, first.Shape, v.t.DType, v.t.Shape)
			}
		}
		if v.local {
			a.locals = append(a.locals, v)
		} else {
			a.variables = append(a.variables, v)
		}
	}
	for _, list := range [][]variable{a.variables, a.locals} {
		slices.SortFunc(list, func(x, y variable) int { return strings.Compare(x.name, y.name) })
		for i := range list {
			a.initial(&list[i])
		}
	}
	if len(a.variables) > 0 {
		a.addSaver()
	}
	return a.Err()
}

func newVariable(n *graph.Node, vars Variables) (variable, error) {
	v := variable{name: n.Str("shared_name"), handle: n.Out(0)}
	if v.name == "" {
		v.name = n.Name
	}
	shape, ok1 := n.Attrs["shape"].(graph.Shape)
	d, ok2 := n.Attrs["dtype"].(tensor.DType)
	if !ok1 || !ok2 || !shape.Known() || slices.ContainsFunc(shape.Dims, func(d graph.Dim) bool { return !d.Static() }) {
		return v, fmt.Errorf("variable %q has type %v and shape %v: expected a fixed shape", v.name, d, shape)
	}
	v.t = graph.Type{DType: d, Shape: shape}
	v.trainable = v.name != globalStep && (vars.Trainable == nil || vars.Trainable(v.name))
	n.Attrs["container"], n.Attrs["shared_name"] = []byte{}, []byte(v.name)
	return v, nil
}

// initial adds the ops that initialise a variable, with zeros if it will be restored, and read it.
func (a *assembly) initial(v *variable) {
	name := v.handle.Node.Name
	if v.local {
		v.initial = a.Const(name+"/Initializer/Const", a.local[v.name])
	} else {
		dims := make([]int32, v.t.Shape.Rank())
		for i, d := range v.t.Shape.Dims {
			dims[i] = int32(d.Const)
		}
		zero := a.Const(name+"/Initializer/zero", tensor.New(v.t.DType))
		v.initial = a.Op("Fill", name+"/Initializer/zeros", v.t, graph.Attrs{"T": v.t.DType, "index_type": tensor.Int32},
			a.ints(name+"/Initializer/shape", dims...), zero)
	}
	v.assign = a.assign(name+"/Assign", v.handle, v.initial)
	for _, n := range usersOf(a.Graph, v.handle) {
		if n.Op == "ReadVariableOp" && len(n.Control) == 0 {
			v.read = n.Out(0)
			return
		}
	}
	v.read = a.Read(v.handle, v.t)
}

func (a *assembly) assign(name string, handle, value graph.Output) *graph.Node {
	return a.Node("AssignVariableOp", name, nil, graph.Attrs{"dtype": value.DType(), "validate_shape": false}, handle, value)
}

// addSaver adds one SaveV2 and one RestoreV2 for all variables.
func (a *assembly) addSaver() {
	scalar := graph.Type{DType: tensor.String}
	withDefault := func(name string, x graph.Output) graph.Output {
		return a.Op("PlaceholderWithDefault", name, scalar, graph.Attrs{"dtype": tensor.String, "shape": graph.Shape{}}, x)
	}
	prefix := withDefault("save/Const", withDefault("save/filename", a.text("save/filename/input", "model")))
	names, types, outs := make([]string, len(a.variables)), make([]tensor.DType, len(a.variables)), make([]graph.Type, len(a.variables))
	reads := make([]graph.Output, len(a.variables))
	for i, v := range a.variables {
		names[i], types[i], reads[i], outs[i] = v.name, v.t.DType, v.read, v.t
	}
	keys := func(op string) []graph.Output {
		return []graph.Output{prefix, a.strings("save/"+op+"/tensor_names", names...), a.strings("save/"+op+"/shape_and_slices", make([]string, len(names))...)}
	}
	saved := a.Node("SaveV2", "save/SaveV2", nil, graph.Attrs{"dtypes": types}, append(keys("SaveV2"), reads...)...)
	done := a.identity("save/control_dependency", prefix, saved)
	restored := a.Node("RestoreV2", "save/RestoreV2", outs, graph.Attrs{"dtypes": types}, keys("RestoreV2")...)
	all := a.Node("NoOp", "save/restore_all", nil, nil)
	for i, v := range a.variables {
		value := a.identity(fmt.Sprintf("save/Identity_%d", i), restored.Out(i))
		all.Control = append(all.Control, a.assign(fmt.Sprintf("save/AssignVariableOp_%d", i), v.handle, value))
	}
	a.saver = &saver{prefix, done, all}
}

// saver holds the ops that save and restore.
type saver struct {
	prefix, saved graph.Output
	restored      *graph.Node
}

func (s *saver) def() *pb.SaverDef {
	if s == nil {
		return nil
	}
	return &pb.SaverDef{FilenameTensorName: s.prefix.String(), SaveTensorName: s.saved.String(), RestoreOpName: s.restored.Name,
		MaxToKeep: 5, KeepCheckpointEveryNHours: 10000, Version: pb.SaverDef_V2}
}

func mergeVariables(to map[string]variable, from []variable) error {
	for _, v := range from {
		if old, ok := to[v.name]; ok && (old.t.DType != v.t.DType || !old.t.Shape.Equal(v.t.Shape)) {
			return fmt.Errorf("variable %q is %v%v here and %v%v in another mode", v.name, v.t.DType, v.t.Shape, old.t.DType, old.t.Shape)
		}
		to[v.name] = v
	}
	return nil
}

// writeVariables writes the values, sorted by name.
func writeVariables(b *bundle.Writer, variables map[string]variable, vars Variables) error {
	if vars.Value == nil {
		return fmt.Errorf("the graphs have %d variables, and Variables.Value is nil", len(variables))
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		want := variables[name].t
		v, err := vars.Value(name)
		if err != nil {
			return fmt.Errorf("variable %q: %w", name, err)
		}
		if v.DType != want.DType || !graph.ShapeOf(v.Shape...).Equal(want.Shape) {
			return fmt.Errorf("variable %q: its value is %v%v: expected %v%v", name, v.DType, v.Shape, want.DType, want.Shape)
		}
		if err := b.Add(name, v); err != nil {
			return err
		}
	}
	return nil
}
