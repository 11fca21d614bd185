package export

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// The names of outputs that the methods prescribe.
const (
	classesOutput = "classes"
	scoresOutput  = "scores"
	regressOutput = "outputs"
)

// methods maps kinds to method names.
var methods = map[Kind]string{
	Predict: savedmodel.MethodPredict, Classify: savedmodel.MethodClassify, Regress: savedmodel.MethodRegress,
	Training: savedmodel.MethodTrain, Eval: savedmodel.MethodEval,
}

// offer decides which signatures to serve, checks them, and adds the nodes of
// their outputs.
func (a *assembly) offer() error {
	if err := a.applyRules(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range a.signatures {
		s := &a.signatures[i]
		if seen[s.Name] || s.Name == "" {
			return fmt.Errorf("signature %q: expected names that are not empty, each once", s.Name)
		}
		seen[s.Name] = true
		if err := s.check(a.mode); err != nil {
			return fmt.Errorf("signature %q: %w", s.Name, err)
		}
	}
	a.addOutputs()
	return a.Err()
}

// applyRules applies tf.estimator's rules: Classify and Regress signatures need
// examples as input, and there must be a serving_default. If that is left
// out, the signature named predict replaces it.
func (a *assembly) applyRules() error {
	if a.mode != models.Predict {
		return nil
	}
	all := a.signatures
	if len(all) > 1 && !slices.ContainsFunc(all, isDefault) {
		return errors.New("multiple export_outputs were provided, but none of them is specified as the default: name one of them serving_default")
	}
	if len(all) == 1 && !isDefault(all[0]) {
		again := all[0]
		again.Name, again.Outputs = savedmodel.DefaultSignature, slices.Clone(again.Outputs)
		all = append(all, again)
	}
	if !a.input.parsing {
		var left []string
		kept := slices.DeleteFunc(slices.Clone(all), func(s Signature) bool {
			examples := s.Kind == Classify || s.Kind == Regress
			if examples {
				left = append(left, s.Name)
			}
			return examples
		})
		if len(left) > 0 { // the same for each export, and requested
			a.log.Debug("signatures left out: they need serialized examples, export with the parsing serving input", "signatures", left)
		}
		if all = withDefault(kept); len(all) == 0 {
			return errors.New("every signature classifies or regresses, which needs serialized examples: expected one to predict, or the parsing serving input")
		}
	}
	a.signatures = all
	return nil
}

func isDefault(s Signature) bool { return s.Name == savedmodel.DefaultSignature }

// withDefault adds a default signature if there is none: a copy of the one named predict, or of the only one.
func withDefault(list []Signature) []Signature {
	if slices.ContainsFunc(list, isDefault) {
		return list
	}
	i := slices.IndexFunc(list, func(s Signature) bool { return s.Name == string(Predict) })
	if i < 0 && len(list) == 1 {
		i = 0
	}
	if i < 0 {
		return list
	}
	again := list[i]
	again.Name, again.Outputs = savedmodel.DefaultSignature, slices.Clone(again.Outputs)
	return append(list, again)
}

// check checks kind and outputs, and sets output names that the kind prescribes.
func (s *Signature) check(mode models.Mode) error {
	ofMode := map[models.Mode][]Kind{models.Predict: {Predict, Classify, Regress}, models.Train: {Training}, models.Eval: {Eval}}[mode]
	if !slices.Contains(ofMode, s.Kind) {
		return fmt.Errorf("kind %q: expected one of %q in mode %s", s.Kind, ofMode, mode)
	}
	if len(s.Outputs) == 0 {
		return errors.New("it has no outputs")
	}
	seen := map[string]bool{}
	for _, o := range s.Outputs {
		if seen[o.Name] || o.Name == "" {
			return fmt.Errorf("output %q: expected names that are not empty, each once", o.Name)
		}
		seen[o.Name] = true
		if d := o.Output.DType(); o.Text != nil && d != tensor.Int32 && d != tensor.Int64 {
			return fmt.Errorf("output %q: ids of words have type %v: expected int32 or int64", o.Name, d)
		}
		if err := s.checkOutput(o); err != nil {
			return fmt.Errorf("output %q: %w", o.Name, err)
		}
	}
	if s.Kind == Regress {
		if len(s.Outputs) != 1 {
			return fmt.Errorf("%d outputs: expected one, of a signature to regress", len(s.Outputs))
		}
		s.Outputs[0].Name = regressOutput
	}
	return nil
}

func (s *Signature) checkOutput(o Named) error {
	words := o.Text != nil || o.Output.DType() == tensor.String
	switch {
	case s.Kind == Classify && o.Name == classesOutput && words, s.Kind != Classify && s.Kind != Regress:
		return nil
	case s.Kind == Classify && o.Name == scoresOutput && o.Output.DType().Float(), s.Kind == Regress && o.Output.DType().Float():
		return nil
	case s.Kind == Classify:
		return fmt.Errorf("its type is %v: expected words named %s and floats named %s", o.Output.DType(), classesOutput, scoresOutput)
	}
	return fmt.Errorf("its type is %v: expected floats", o.Output.DType())
}

// addOutputs adds the final nodes of signatures, one for each value.
func (a *assembly) addOutputs() {
	type value struct {
		out    graph.Output
		text   *Text
		narrow bool
	}
	known := map[value]graph.Output{}
	for i := range a.signatures {
		s := &a.signatures[i]
		for j := range s.Outputs {
			o := &s.Outputs[j]
			v := value{o.Output, o.Text, s.Kind == Classify || s.Kind == Regress}
			out, ok := known[v]
			if !ok {
				name := "outputs/" + o.Name
				switch {
				case v.text != nil:
					out = a.words(name, v.out, v.text.Words)
				case v.narrow && v.out.DType().Float():
					out = a.cast(name, v.out, tensor.Float32) // the only float type that servers accept
				}
				if !out.Valid() || out == v.out {
					out = a.identity(name, v.out)
				}
				known[v] = out
			}
			o.Output = out
		}
	}
}

// signatureDef returns the signature as a SignatureDef.
func (a *assembly) signatureDef(s Signature) *pb.SignatureDef {
	def := &pb.SignatureDef{Inputs: map[string]*pb.TensorInfo{}, Outputs: map[string]*pb.TensorInfo{}, MethodName: methods[s.Kind]}
	for _, in := range a.inputs {
		key := in.key
		if s.Kind == Classify || s.Kind == Regress {
			key = inputsKey
		}
		def.Inputs[key] = tensorInfo(in.tensor)
	}
	for _, o := range s.Outputs {
		def.Outputs[o.Name] = tensorInfo(o.Output)
	}
	return def
}

func tensorInfo(o graph.Output) *pb.TensorInfo {
	shape := &tensor_shape_go_proto.TensorShapeProto{UnknownRank: o.Shape().UnknownRank}
	for _, d := range o.Shape().Dims {
		size := int64(d.Const)
		if !d.Static() {
			size = -1
		}
		shape.Dim = append(shape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: size})
	}
	return &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: o.String()}, Dtype: types_go_proto.DataType(o.DType()), TensorShape: shape}
}
