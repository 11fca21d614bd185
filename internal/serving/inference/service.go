package inference

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// DefaultSignature is the signature of requests that name none.
const DefaultSignature = "serving_default"

// The method names of signatures.
const (
	PredictMethod  = "tensorflow/serving/predict"
	ClassifyMethod = "tensorflow/serving/classify"
	RegressMethod  = "tensorflow/serving/regress"
)

// Service answers prediction requests. It is safe for concurrent use; its fields are set before the first call.
type Service struct {
	Models       servable.Source
	Observers    []Observer // see every call, in this order
	Entrypoint   string     // of the calls, for the observers: "GRPC" where empty, or "REST"
	Content      bool       // outputs of Predict as tensor_content instead of typed values
	CheckMethods bool       // a signature's method name must fit the call
	// Choose picks the signature of calls of PredictFrom that name none; nil: DefaultSignature.
	Choose func(sigs map[string]*pb.SignatureDef) string
	Log    *slog.Logger // panics of models; nil: slog.Default
}

// Spec names a model, a version of it and a signature ("": DefaultSignature).
type Spec struct {
	Name      string
	Version   servable.Version
	Signature string
}

// longestName bounds the names of models, labels and signatures that requests may ask for.
const longestName = 4096

// CheckNames returns an error for names that are too long, since errors, logs and metrics would repeat them, escaped.
func CheckNames(m *apis.ModelSpec) error {
	for _, name := range []string{m.GetName(), m.GetVersionLabel(), m.GetSignatureName()} {
		if len(name) > longestName {
			return invalid("a name in the ModelSpec has %d bytes, expected at most %d", len(name), longestName)
		}
	}
	return nil
}

// specOf reads a request's ModelSpec.
func specOf(m *apis.ModelSpec) (Spec, error) {
	if m == nil {
		return Spec{}, status.Error(codes.InvalidArgument, "Missing ModelSpec")
	}
	if err := CheckNames(m); err != nil {
		return Spec{}, err
	}
	s := Spec{Name: m.GetName(), Signature: m.GetSignatureName()}
	switch v := m.GetVersionChoice().(type) {
	case *apis.ModelSpec_Version:
		s.Version = servable.Version{Number: v.Version.GetValue(), Exact: true}
	case *apis.ModelSpec_VersionLabel:
		if v.VersionLabel == "" && s.Name != "" {
			return s, status.Error(codes.InvalidArgument, "Unrecognized servable version label: ")
		}
		s.Version.Label = v.VersionLabel
	}
	return s, nil
}

// proto is the ModelSpec of a request.
func (s Spec) proto() *apis.ModelSpec {
	m := &apis.ModelSpec{Name: s.Name, SignatureName: s.Signature}
	switch {
	case s.Version.Label != "":
		m.VersionChoice = &apis.ModelSpec_VersionLabel{VersionLabel: s.Version.Label}
	case s.Version.Exact:
		m.VersionChoice = &apis.ModelSpec_Version{Version: wrapperspb.Int64(s.Version.Number)}
	}
	return m
}

// key is the key of the signature.
func (s Spec) key() string {
	if s.Signature == "" {
		return DefaultSignature
	}
	return s.Signature
}

// resolved is the ModelSpec of a response.
func (s Spec) resolved(id servable.ID) *apis.ModelSpec {
	return &apis.ModelSpec{Name: s.Name, SignatureName: s.key(), VersionChoice: &apis.ModelSpec_Version{Version: wrapperspb.Int64(id.Version)}}
}

// acquire finds the model of a spec and notes it in the call.
func (s *Service) acquire(ctx context.Context, call *Call, spec Spec) (servable.Handle, error) {
	if spec.Name == "" {
		return nil, status.Error(codes.InvalidArgument, "ModelSpec has no name specified.")
	}
	if v := &spec.Version; !v.Exact && v.Label == "" && !v.Main {
		v.Key = routingKey(ctx)
	}
	h, err := s.Models.Acquire(spec.Name, spec.Version)
	if err != nil {
		return nil, toStatus(err)
	}
	call.ID = h.ID()
	return h, nil
}

// Find returns an error if there is no model for a spec. It is for transports that ask before they read a request; another model may
// answer the request itself.
func (s *Service) Find(spec Spec) error {
	spec.Version.Main = true
	h, err := s.acquire(context.Background(), &Call{}, spec)
	if err == nil {
		h.Release()
	}
	return err
}

// Features returns the features that each signature of a model parses from serialized examples; signatures that parse none are left out.
func (s *Service) Features(spec Spec) map[string][]servable.Feature {
	spec.Version.Main = true
	h, err := s.acquire(context.Background(), &Call{}, spec)
	if err != nil {
		return nil
	}
	defer h.Release()
	all := map[string][]servable.Feature{}
	for key := range h.Model().Signatures() {
		if f := servable.FeaturesOf(h.Model(), key); len(f) > 0 {
			all[key] = f
		}
	}
	return all
}

// run runs a model; a panic becomes the error of this call alone.
func (s *Service) run(ctx context.Context, call *Call, m servable.Model, feeds map[string]*tensor.Tensor, fetches []string) (outs []*tensor.Tensor, err error) {
	if ctx.Err() != nil {
		return nil, toStatus(ctx.Err())
	}
	start := time.Now()
	defer func() {
		call.Runtime = time.Since(start)
		if p := recover(); p != nil {
			outs, err = nil, fault.New("model "+call.ID.String(), p)
		}
		fault.Log(s.Log, err, "model", call.ID.String())
		err = toStatus(err)
	}()
	return m.Run(ctx, feeds, fetches)
}

// toStatus gives an error a gRPC status.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if over := (*budget.Error)(nil); errors.As(err, &over) && err != error(over) {
		return status.Error(over.GRPCStatus().Code(), statustext.Of(err)) // with what it was for
	}
	if coded := (interface{ GRPCStatus() *status.Status })(nil); errors.As(err, &coded) {
		return statustext.Convert(err).Err()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "Timed out waiting for notification")
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "The request was cancelled")
	}
	return status.Error(codes.Internal, err.Error())
}

// invalid is an error of the request.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// signature returns the signature of a model with a key, or nil.
func signature(m servable.Model, key string) *pb.SignatureDef { return m.Signatures()[key] }
