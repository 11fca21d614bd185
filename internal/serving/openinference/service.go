package openinference

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	tfpb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Name is the full name of the gRPC service.
const Name = "inference.GRPCInferenceService"

// Platform is the platform of models in their metadata.
const Platform = "tensorflow_savedmodel"

// SignatureParameter is the request parameter that names a signature.
const SignatureParameter = "signature_name"

// RefusedOfOutputs are parameters of outputs that ask for extensions that are not implemented.
var RefusedOfOutputs = []string{"classification", "shared_memory_region"}

// Repository loads and unloads models of the server's config, for its operator.
type Repository interface {
	// Load looks for versions of a model, puts it back into service if it was unloaded, and returns when it is available.
	Load(ctx context.Context, model string) error
	// Unload takes a model out of service until it is loaded again.
	Unload(ctx context.Context, model string) error
	// Unloaded returns the names of the models that are out of service, sorted.
	Unloaded() []string
}

// Service answers the protocol. Its fields are set before the first call.
type Service struct {
	Inference  *inference.Service
	Catalog    servable.Catalog
	Repository Repository  // nil: models are fixed
	Ready      func() bool // nil: always
	Version    string      // of the server
}

// spec names the model and version that a request asks for; a version that is not a number is a label.
func spec(model, version string) (inference.Spec, error) {
	s := inference.Spec{Name: model}
	if model == "" {
		return s, invalid("the request names no model")
	}
	if len(model) > longest || len(version) > longest {
		return s, invalid("the name of a model or version has more than %d bytes", longest)
	}
	n, err := strconv.ParseUint(version, 10, 63)
	switch {
	case version == "":
	case err == nil:
		s.Version = servable.Version{Number: int64(n), Exact: true}
	default:
		s.Version.Label = version
	}
	return s, nil
}

// longest limits the length of names in requests, which errors quote.
const longest = 4096

// Choose returns the signature for requests that name none: serving_default, or the model's only one.
func Choose(sigs map[string]*tfpb.SignatureDef) string {
	var own []string
	for key := range sigs {
		if !strings.HasPrefix(key, "__") { // TensorFlow's, such as __saved_model_init_op
			own = append(own, key)
		}
	}
	if sigs[inference.DefaultSignature] == nil && len(own) == 1 {
		return own[0]
	}
	return inference.DefaultSignature
}

// Request is a request to infer.
type Request struct {
	Model, Version string
	Signature      string   // "": see Choose
	Outputs        []string // the requested outputs; none: all
	Inputs         int      // how many there are
	// Decode makes the inputs, by name.
	Decode func() (map[string]*tensor.Tensor, error)
}

// Find returns an error if no model can answer.
func (s *Service) Find(model, version string) error {
	sp, err := spec(model, version)
	if err != nil {
		return err
	}
	return s.Inference.Find(sp)
}

// Infer answers a request as TensorFlow Serving's Predict does.
func (s *Service) Infer(ctx context.Context, r Request) (*inference.Prediction, error) {
	sp, err := spec(r.Model, r.Version)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{r.Signature}, r.Outputs...) {
		if len(name) > longest {
			return nil, invalid("the name of a signature or output has more than %d bytes", longest)
		}
	}
	sp.Signature = r.Signature
	infer := *s.Inference
	infer.Choose = Choose
	return infer.PredictFrom(ctx, sp, func(sigs map[string]*tfpb.SignatureDef) (map[string]*tensor.Tensor, error) {
		if sp.Signature == "" {
			sp.Signature = Choose(sigs)
		}
		if def := sigs[sp.Signature]; def != nil && r.Inputs > len(def.GetInputs()) { // errors list the names of all
			return nil, invalid("%d inputs: signature %q has %d", r.Inputs, sp.Signature, len(def.GetInputs()))
		}
		return r.Decode()
	}, r.Outputs)
}

// Collect makes the map of inputs. Each name may occur once.
func Collect(n int, input func(i int) (name string, t *tensor.Tensor, err error)) (map[string]*tensor.Tensor, error) {
	out := make(map[string]*tensor.Tensor, n)
	for i := range n {
		name, t, err := input(i)
		if err != nil {
			return nil, err
		}
		if len(name) > longest {
			return nil, invalid("the name of an input has more than %d bytes", longest)
		}
		if out[name] != nil {
			return nil, invalid("input %q is there twice", short(name))
		}
		out[name] = t
	}
	return out, nil
}

// ready reports whether the server is ready.
func (s *Service) ready() bool { return s.Ready == nil || s.Ready() }

// ServerLive implements the protocol.
func (s *Service) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady implements the protocol.
func (s *Service) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: s.ready()}, nil
}

// ModelReady implements the protocol. An unknown model is not ready.
func (s *Service) ModelReady(_ context.Context, r *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	if _, err := spec(r.GetName(), r.GetVersion()); err != nil {
		return nil, err
	}
	return &pb.ModelReadyResponse{Ready: s.Find(r.GetName(), r.GetVersion()) == nil}, nil
}

// ServerMetadata implements the protocol.
func (s *Service) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "goestimator", Version: s.Version, Extensions: []string{"binary_tensor_data", "model_repository"}}, nil
}

// ModelMetadata implements the protocol. It describes the signature used for requests that name none.
func (s *Service) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	sp, err := spec(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, err
	}
	sp.Version.Main = true
	h, err := s.Inference.Models.Acquire(sp.Name, sp.Version)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	def := h.Model().Signatures()[Choose(h.Model().Signatures())]
	if def == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "model %s has several signatures and none is %s: name one by the parameter %s", sp.Name, inference.DefaultSignature, SignatureParameter)
	}
	m := &pb.ModelMetadataResponse{Name: sp.Name, Platform: Platform, Inputs: tensors(def.GetInputs()), Outputs: tensors(def.GetOutputs())}
	for _, v := range s.Catalog.Status(sp.Name) {
		if v.State == servable.Available {
			m.Versions = append(m.Versions, strconv.FormatInt(v.ID.Version, 10))
		}
	}
	return m, nil
}

// tensors describes inputs or outputs. An unknown rank is described as the shape [-1].
func tensors(infos map[string]*tfpb.TensorInfo) (out []*pb.ModelMetadataResponse_TensorMetadata) {
	for name, info := range infos {
		t := &pb.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: Datatype(tensor.DType(info.GetDtype())), Shape: []int64{}}
		if info.GetTensorShape().GetUnknownRank() || info.GetTensorShape() == nil {
			t.Shape = append(t.Shape, -1)
		}
		for _, d := range info.GetTensorShape().GetDim() {
			t.Shape = append(t.Shape, d.GetSize())
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *pb.ModelMetadataResponse_TensorMetadata) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
