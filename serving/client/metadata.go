package client

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Metadata describes the signatures of a version of a model.
type Metadata struct {
	Version    int64
	Signatures map[string]Signature
}

// Signature is one way to call a model.
type Signature struct {
	Method          string // "tensorflow/serving/predict", "tensorflow/serving/classify", "tensorflow/serving/regress"
	Inputs, Outputs map[string]TensorInfo
}

// TensorInfo describes an input or output.
type TensorInfo struct {
	Type        string // "float32", "int64", "string"
	Shape       []int  // -1: any size
	UnknownRank bool
}

// Metadata returns the signatures of a model.
func (c *Client) Metadata(ctx context.Context, m Model) (*Metadata, error) {
	resp := &apis.GetModelMetadataResponse{}
	err := c.call(ctx, "PredictionService/GetModelMetadata", &apis.GetModelMetadataRequest{ModelSpec: m.spec(), MetadataField: []string{"signature_def"}}, resp)
	if err != nil {
		return nil, err
	}
	sigs := &apis.SignatureDefMap{}
	if err := resp.GetMetadata()["signature_def"].UnmarshalTo(sigs); err != nil {
		return nil, fmt.Errorf("the server's signatures: %w", err)
	}
	out := &Metadata{Version: resp.GetModelSpec().GetVersion().GetValue(), Signatures: map[string]Signature{}}
	for key, s := range sigs.GetSignatureDef() {
		out.Signatures[key] = Signature{Method: s.GetMethodName(), Inputs: infos(s.GetInputs()), Outputs: infos(s.GetOutputs())}
	}
	return out, nil
}

func infos(in map[string]*pb.TensorInfo) map[string]TensorInfo {
	out := make(map[string]TensorInfo, len(in))
	for name, t := range in {
		info := TensorInfo{Type: tensor.DType(t.GetDtype()).String(), UnknownRank: t.GetTensorShape().GetUnknownRank()}
		for _, d := range t.GetTensorShape().GetDim() {
			info.Shape = append(info.Shape, int(d.GetSize()))
		}
		out[name] = info
	}
	return out
}

// VersionStatus is the state of a version of a model.
type VersionStatus struct {
	Version int64
	State   string // "START", "LOADING", "AVAILABLE", "UNLOADING", "END"
	Err     error  // why it ended, with a gRPC status
}

// Status returns the versions of a model, the newest first.
func (c *Client) Status(ctx context.Context, name string) ([]VersionStatus, error) {
	resp := &apis.GetModelStatusResponse{}
	if err := c.call(ctx, "ModelService/GetModelStatus", &apis.GetModelStatusRequest{ModelSpec: &apis.ModelSpec{Name: name}}, resp); err != nil {
		return nil, err
	}
	var out []VersionStatus
	for _, v := range resp.GetModelVersionStatus() {
		out = append(out, VersionStatus{Version: v.GetVersion(), State: v.GetState().String(),
			Err: status.Error(codes.Code(v.GetStatus().GetErrorCode()), v.GetStatus().GetErrorMessage())})
	}
	return out, nil
}

// Ready reports whether a version of a model is available. An unknown model is not ready.
func (c *Client) Ready(ctx context.Context, name string) (bool, error) {
	versions, err := c.Status(ctx, name)
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	for _, v := range versions {
		if v.State == apis.ModelVersionStatus_AVAILABLE.String() {
			return true, nil
		}
	}
	return false, err
}
