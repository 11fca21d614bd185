package inference

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Prediction is the answer to a Predict call: outputs by alias, in the order of the filter, else sorted.
type Prediction struct {
	ID        servable.ID // the version that answered
	Signature string      // the key
	Def       *pb.SignatureDef
	Names     []string
	Tensors   []*tensor.Tensor
}

// Decode makes the inputs of a Predict call, by alias, from the signatures of the model. Until the call returns, the
// inputs may share memory with their source. Its error should carry a gRPC status.
type Decode func(sigs map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error)

// Predict implements PredictionService.Predict. The response shares the memory of the model's outputs.
func (s *Service) Predict(ctx context.Context, r *apis.PredictRequest) (resp *apis.PredictResponse, err error) {
	spec, err := specOf(r.GetModelSpec())
	call := s.begin("Predict", spec)
	call.request = r
	defer func() { s.end(&call, err) }()
	if err != nil {
		return nil, err
	}
	h, err := s.acquire(ctx, &call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	p, err := predict(ctx, s, &call, predictArgs[*tensor_go_proto.TensorProto]{
		model: h.Model(), key: spec.key(), inputs: r.GetInputs(), filter: r.GetOutputFilter(),
		convert: func(t *tensor_go_proto.TensorProto) (*tensor.Tensor, error) {
			return graphdef.ViewTensorProto(t, budget.Of(ctx))
		}})
	if err != nil {
		return nil, err
	}
	p.ID = h.ID()
	if err = budget.Of(ctx).ReserveModel(p.protoSize(s.Content)); err != nil {
		return nil, err
	}
	if resp, err = p.proto(spec, s.Content); err != nil {
		return nil, err
	}
	call.response = resp
	return resp, nil
}

// PredictTensors is Predict for tensors by input alias; filter names the outputs, empty for all. The model does not
// keep the inputs; the outputs belong to the caller.
func (s *Service) PredictTensors(ctx context.Context, spec Spec, inputs map[string]*tensor.Tensor, filter []string) (*Prediction, error) {
	return s.PredictFrom(ctx, spec, func(map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error) { return inputs, nil }, filter)
}

// PredictFrom is PredictTensors for inputs that are decoded once the model is known: the version that answers is the
// one whose signature decodes them.
func (s *Service) PredictFrom(ctx context.Context, spec Spec, decode Decode, filter []string) (p *Prediction, err error) {
	call := s.begin("Predict", spec)
	call.tensors = &tensorCall{spec: spec, filter: filter}
	defer func() { s.end(&call, err) }()
	h, err := s.acquire(ctx, &call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	if spec.Signature == "" && s.Choose != nil {
		spec.Signature = s.Choose(h.Model().Signatures())
		call.Signature, call.tensors.spec = spec.key(), spec
	}
	inputs, err := decode(h.Model().Signatures())
	if err != nil {
		return nil, toStatus(err)
	}
	call.tensors.inputs = inputs
	p, err = predict(ctx, s, &call, predictArgs[*tensor.Tensor]{
		model: h.Model(), key: spec.key(), inputs: inputs, filter: filter, convert: given})
	if err != nil {
		return nil, err
	}
	p.ID = h.ID()
	call.tensors.prediction = p
	return p, nil
}

func given(t *tensor.Tensor) (*tensor.Tensor, error) { return t, nil }

// predictArgs says what to predict; T is a tensor before its conversion.
type predictArgs[T any] struct {
	model   servable.Model
	key     string
	inputs  map[string]T
	filter  []string
	convert func(T) (*tensor.Tensor, error)
}

func predict[T any](ctx context.Context, s *Service, call *Call, a predictArgs[T]) (*Prediction, error) {
	def := signature(a.model, a.key)
	if def == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "Serving signature key \"%s\" not found.", a.key)
	}
	if m := def.GetMethodName(); s.CheckMethods && m != PredictMethod && m != ClassifyMethod && m != RegressMethod {
		return nil, status.Errorf(codes.Internal, "Expected prediction signature method_name to be one of {%s, %s, %s}. Was: %s",
			PredictMethod, ClassifyMethod, RegressMethod, m)
	}
	aliases := sorted(def.GetInputs())
	feeds, err := feedsOf(def, aliases, a.inputs, a.convert)
	if err != nil {
		return nil, err
	}
	names, err := outputNames(def, a.filter)
	if err != nil {
		return nil, err
	}
	if err := checkTypes(def, aliases, feeds); err != nil {
		return nil, err
	}
	fetches := make([]string, len(names))
	for i, n := range names {
		fetches[i] = def.GetOutputs()[n].GetName()
	}
	outs, err := s.run(ctx, call, a.model, feeds, fetches)
	if err != nil {
		return nil, err
	}
	if len(outs) != len(names) || slices.Contains(outs, nil) {
		return nil, status.Error(codes.Unknown, "Predict internal error")
	}
	return &Prediction{Signature: a.key, Def: def, Names: names, Tensors: outs}, nil
}

// feedsOf matches inputs by alias with the signature's, whose sorted aliases are given, and converts them.
func feedsOf[T any](def *pb.SignatureDef, aliases []string, inputs map[string]T, convert func(T) (*tensor.Tensor, error)) (map[string]*tensor.Tensor, error) {
	want := def.GetInputs()
	if len(inputs) > len(want) || len(inputs) < len(want) && len(def.GetDefaults()) == 0 {
		return nil, invalid("input size does not match signature: %d!=%d len({%s}) != len({%s}). Sent extra: {%s}. Missing but required: {%s}.",
			len(inputs), len(want), keys(inputs), keys(want), missing(inputs, want), missing(want, inputs))
	}
	feeds, used := make(map[string]*tensor.Tensor, len(want)), 0
	for _, alias := range aliases {
		var t *tensor.Tensor
		var err error
		if in, ok := inputs[alias]; ok {
			used++
			t, err = convert(in)
		} else if d, ok := def.GetDefaults()[alias]; ok {
			t, err = graphdef.ViewTensorProto(d, nil) // the model's own
		} else {
			return nil, invalid("Signature input alias: %s(feed name: %s) not found in request and no default value provided. Inputs expected to be in the request {%s}, or default input alias set: %s",
				alias, want[alias].GetName(), keys(inputs), keys(def.GetDefaults()))
		}
		if over := (*budget.Error)(nil); errors.As(err, &over) {
			return nil, over
		}
		if errors.Is(err, graphdef.ErrExpands) {
			return nil, invalid("tensor parsing error: %s: %v", alias, err)
		}
		if err != nil || t == nil {
			return nil, invalid("tensor parsing error: %s", alias)
		}
		feeds[want[alias].GetName()] = t
	}
	if used != len(inputs) {
		known := maps.Clone(inputs)
		maps.DeleteFunc(known, func(k string, _ T) bool { _, ok := want[k]; return !ok })
		return nil, invalid("Inputs contains invalid name. Used request inputs: %s, request input: %s", keys(known), keys(inputs))
	}
	return feeds, nil
}

// outputNames returns the aliases to answer with.
func outputNames(def *pb.SignatureDef, filter []string) ([]string, error) {
	for i, alias := range filter {
		if _, ok := def.GetOutputs()[alias]; !ok {
			return nil, invalid("output tensor alias not found in signature: %s Outputs expected to be in the set {%s}.", alias, keys(def.GetOutputs()))
		}
		if slices.Contains(filter[:i], alias) {
			return nil, invalid("duplicate output tensor alias: %s", alias)
		}
	}
	if len(filter) > 0 {
		return filter, nil
	}
	return sorted(def.GetOutputs()), nil
}

// checkTypes checks the types of feeds against the signature; its errors are TensorFlow's.
func checkTypes(def *pb.SignatureDef, aliases []string, feeds map[string]*tensor.Tensor) error {
	for i, alias := range aliases {
		info := def.GetInputs()[alias]
		want, got := info.GetDtype(), types_go_proto.DataType(feeds[info.GetName()].DType)
		if want != got && want != types_go_proto.DataType_DT_INVALID {
			return invalid("Expects arg[%d] to be %s but %s is provided", i, typeName(want), typeName(got))
		}
	}
	return nil
}

// typeName is TensorFlow's short name: "float", "int64".
func typeName(d types_go_proto.DataType) string {
	return strings.ToLower(strings.TrimPrefix(d.String(), "DT_"))
}

// proto makes the response.
func (p *Prediction) proto(spec Spec, content bool) (*apis.PredictResponse, error) {
	r := &apis.PredictResponse{ModelSpec: spec.resolved(p.ID), Outputs: make(map[string]*tensor_go_proto.TensorProto, len(p.Names))}
	for i, name := range p.Names {
		t, err := graphdef.ToTensorProto(p.Tensors[i], content)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "output %s: %v", name, err)
		}
		r.Outputs[name] = t
	}
	return r, nil
}

// protoSize is the number of bytes that proto allocates for values.
func (p *Prediction) protoSize(content bool) (n int) {
	for _, t := range p.Tensors {
		n += graphdef.ProtoSize(t, content)
	}
	return n
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// keys lists the keys of a map for error texts: sorted, with commas.
func keys[V any](m map[string]V) string { return strings.Join(sorted(m), ",") }

// missing lists the keys of a that b does not have.
func missing[V, W any](a map[string]V, b map[string]W) string {
	extra := maps.Clone(a)
	maps.DeleteFunc(extra, func(k string, _ V) bool { _, ok := b[k]; return ok })
	return keys(extra)
}
