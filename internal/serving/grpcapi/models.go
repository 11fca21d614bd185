package grpcapi

import (
	"context"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	errorcodes "github.com/wamuir/graft/tensorflow/tsl/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reloader replaces the models that are served, and returns when the new ones are available.
type Reloader interface {
	Reload(ctx context.Context, c *config.ModelServerConfig) error
}

// Models answers ModelService.
type Models struct {
	Catalog  servable.Catalog
	Reloader Reloader // nil: reloading is UNIMPLEMENTED
	// Metrics reads all counters and returns their values by name, for the increases that a reload reports; nil: all are 0.
	Metrics func() (value func(name string) int64)
}

// GetModelStatus implements ModelService.GetModelStatus for one version, or for all of them, the newest first. A version label in
// the request is ignored, as in TensorFlow Serving.
func (m *Models) GetModelStatus(_ context.Context, r *apis.GetModelStatusRequest) (*apis.GetModelStatusResponse, error) {
	spec := r.GetModelSpec()
	if spec == nil {
		return nil, status.Error(codes.InvalidArgument, "Missing ModelSpec")
	}
	if err := inference.CheckNames(spec); err != nil {
		return nil, err
	}
	_, exact := spec.GetVersionChoice().(*apis.ModelSpec_Version)
	resp := &apis.GetModelStatusResponse{}
	for _, v := range m.Catalog.Status(spec.GetName()) {
		if !exact || v.ID.Version == spec.GetVersion().GetValue() {
			resp.ModelVersionStatus = append(resp.ModelVersionStatus, &apis.ModelVersionStatus{
				Version: v.ID.Version, State: apis.ModelVersionStatus_State(v.State), Status: statusProto(v.Err)})
		}
	}
	switch {
	case len(resp.ModelVersionStatus) > 0:
		return resp, nil
	case exact:
		return nil, status.Errorf(codes.NotFound, "Could not find version %d of model %s", spec.GetVersion().GetValue(), spec.GetName())
	}
	return nil, status.Errorf(codes.NotFound, "Could not find any versions of model %s", spec.GetName())
}

// HandleReloadConfigRequest implements ModelService.HandleReloadConfigRequest.
func (m *Models) HandleReloadConfigRequest(ctx context.Context, r *apis.ReloadConfigRequest) (*apis.ReloadConfigResponse, error) {
	if m.Reloader == nil {
		return nil, status.Error(codes.Unimplemented, "this server's models are fixed")
	}
	if _, ok := r.GetConfig().GetConfig().(*config.ModelServerConfig_ModelConfigList); !ok {
		return nil, status.Error(codes.InvalidArgument,
			"ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported")
	}
	before := m.counters()
	if err := m.Reloader.Reload(ctx, r.GetConfig()); err != nil {
		return nil, err
	}
	after := m.counters()
	resp := &apis.ReloadConfigResponse{Status: statusProto(nil)}
	for _, name := range r.GetMetricNames() {
		resp.Metric = append(resp.Metric, &apis.Metric{Name: name,
			ValueIncrease: &apis.Metric_Int64ValueIncrease{Int64ValueIncrease: after(name) - before(name)}})
	}
	return resp, nil
}

func (m *Models) counters() (value func(name string) int64) {
	if m.Metrics == nil {
		return func(string) int64 { return 0 }
	}
	return m.Metrics()
}

// statusProto converts an error to a message. Its text may quote a damaged file; nil is OK.
func statusProto(err error) *apis.StatusProto {
	st := statustext.Convert(err)
	return &apis.StatusProto{ErrorCode: errorcodes.Code(st.Code()), ErrorMessage: strings.ToValidUTF8(st.Message(), "\uFFFD")}
}
