package inference

import (
	"context"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/servable"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// SignatureDefField is the one metadata field there is.
const SignatureDefField = "signature_def"

// GetModelMetadata implements PredictionService.GetModelMetadata: the signatures of a model.
func (s *Service) GetModelMetadata(ctx context.Context, r *apis.GetModelMetadataRequest) (resp *apis.GetModelMetadataResponse, err error) {
	spec, err := specOf(r.GetModelSpec())
	call := s.begin("GetModelMetadata", spec)
	call.request = r
	defer func() { s.end(&call, err) }()
	if r.GetModelSpec() == nil {
		return nil, err
	}
	if len(r.GetMetadataField()) == 0 {
		return nil, invalid("GetModelMetadataRequest must specify at least one metadata_field")
	}
	for _, f := range r.GetMetadataField() {
		if f != SignatureDefField {
			return nil, invalid("Metadata field %s is not supported", f)
		}
	}
	if err != nil {
		return nil, err
	}
	spec.Version.Main = true
	h, err := s.acquire(ctx, &call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	if resp, err = metadata(h); err != nil {
		return nil, toStatus(err)
	}
	call.response = resp
	return resp, nil
}

func metadata(h servable.Handle) (*apis.GetModelMetadataResponse, error) {
	sigs, err := anypb.New(&apis.SignatureDefMap{SignatureDef: h.Model().Signatures()})
	if err != nil {
		return nil, err
	}
	return &apis.GetModelMetadataResponse{
		ModelSpec: &apis.ModelSpec{Name: h.ID().Name, VersionChoice: &apis.ModelSpec_Version{Version: wrapperspb.Int64(h.ID().Version)}},
		Metadata:  map[string]*anypb.Any{SignatureDefField: sigs},
	}, nil
}

// debugString is a signature in the text form that TensorFlow prints.
func debugString(def *pb.SignatureDef) string {
	text := prototext.MarshalOptions{Multiline: true}.Format(def)
	// The white space between a key and a value deliberately differs between builds.
	text = strings.ReplaceAll(text, ":  ", ": ")
	return strings.ReplaceAll(text, ": {\n", " {\n")
}
