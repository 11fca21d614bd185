package grpcapi

import (
	"context"
	"path"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
)

// The full names of the services.
const (
	PredictionService = "tensorflow.serving.PredictionService"
	ModelService      = "tensorflow.serving.ModelService"
)

// Predictor answers PredictionService; *inference.Service is one.
type Predictor interface {
	Predict(context.Context, *apis.PredictRequest) (*apis.PredictResponse, error)
	Classify(context.Context, *apis.ClassificationRequest) (*apis.ClassificationResponse, error)
	Regress(context.Context, *apis.RegressionRequest) (*apis.RegressionResponse, error)
	MultiInference(context.Context, *apis.MultiInferenceRequest) (*apis.MultiInferenceResponse, error)
	GetModelMetadata(context.Context, *apis.GetModelMetadataRequest) (*apis.GetModelMetadataResponse, error)
}

// modelServer answers ModelService.
type modelServer interface {
	GetModelStatus(context.Context, *apis.GetModelStatusRequest) (*apis.GetModelStatusResponse, error)
	HandleReloadConfigRequest(context.Context, *apis.ReloadConfigRequest) (*apis.ReloadConfigResponse, error)
}

// unary describes a method of the services of type S by its method expression.
func unary[S, Req, Resp any](l Limits, full string, call func(S, context.Context, *Req) (*Resp, error)) grpc.MethodDesc {
	_, method := path.Split(full)
	return grpc.MethodDesc{MethodName: method, Handler: func(srv any, ctx context.Context, dec func(any) error, wrap grpc.UnaryServerInterceptor) (resp any, err error) {
		a, answered := l.Memory.Open(), false
		defer func() {
			if !answered || err != nil { // else the reply closes it
				a.Close()
			}
		}()
		ctx = budget.With(ctx, a)
		req := new(Req)
		received := l.receive(ctx, full, req, a, dec) // interceptors see failed calls, too
		if received == nil {
			place := admission.PlaceOf(ctx)
			place.Begin()
			defer place.End()
		}
		answer := func(ctx context.Context, _ any) (any, error) {
			if received != nil {
				return nil, received
			}
			resp, err := call(srv.(S), ctx, req)
			if err != nil {
				return resp, err
			}
			reply, err := l.marshal(ctx, resp, a)
			answered = err == nil
			return reply, err
		}
		if wrap == nil {
			return answer(ctx, req)
		}
		return wrap(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, answer)
	}}
}

// predictionDesc and modelDesc describe the services.
func predictionDesc(l Limits) *grpc.ServiceDesc {
	const of = "/" + PredictionService + "/"
	return &grpc.ServiceDesc{
		ServiceName: PredictionService,
		HandlerType: (*Predictor)(nil),
		Metadata:    apis.File_tensorflow_serving_apis_prediction_service_proto.Path(),
		Methods: []grpc.MethodDesc{
			unary(l, of+"Classify", Predictor.Classify),
			unary(l, of+"Regress", Predictor.Regress),
			unary(l, of+"Predict", Predictor.Predict),
			unary(l, of+"MultiInference", Predictor.MultiInference),
			unary(l, of+"GetModelMetadata", Predictor.GetModelMetadata),
		},
	}
}

func modelDesc(l Limits) *grpc.ServiceDesc {
	const of = "/" + ModelService + "/"
	return &grpc.ServiceDesc{
		ServiceName: ModelService,
		HandlerType: (*modelServer)(nil),
		Metadata:    apis.File_tensorflow_serving_apis_model_service_proto.Path(),
		Methods: []grpc.MethodDesc{
			unary(l, of+"GetModelStatus", modelServer.GetModelStatus),
			unary(l, of+"HandleReloadConfigRequest", modelServer.HandleReloadConfigRequest),
		},
	}
}

// Register adds both services to a server, without limits.
func Register(s grpc.ServiceRegistrar, p Predictor, m *Models) { Limits{}.Register(s, p, m) }

// Register adds both services to a server. Make the server with Options; otherwise limits and errors do not hold.
func (l Limits) Register(s grpc.ServiceRegistrar, p Predictor, m *Models) {
	l.setDefaults()
	s.RegisterService(predictionDesc(l), p)
	s.RegisterService(modelDesc(l), m)
}
