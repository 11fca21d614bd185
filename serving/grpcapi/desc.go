package grpcapi

import (
	"context"

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
func unary[S, Req, Resp any](service, method string, call func(S, context.Context, *Req) (*Resp, error)) grpc.MethodDesc {
	full := "/" + service + "/" + method
	return grpc.MethodDesc{MethodName: method, Handler: func(srv any, ctx context.Context, dec func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
		req := new(Req)
		if err := dec(req); err != nil {
			return nil, err
		}
		if wrap == nil {
			return call(srv.(S), ctx, req)
		}
		return wrap(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, func(ctx context.Context, req any) (any, error) {
			return call(srv.(S), ctx, req.(*Req))
		})
	}}
}

var predictionDesc = grpc.ServiceDesc{
	ServiceName: PredictionService,
	HandlerType: (*Predictor)(nil),
	Metadata:    apis.File_tensorflow_serving_apis_prediction_service_proto.Path(),
	Methods: []grpc.MethodDesc{
		unary(PredictionService, "Classify", Predictor.Classify),
		unary(PredictionService, "Regress", Predictor.Regress),
		unary(PredictionService, "Predict", Predictor.Predict),
		unary(PredictionService, "MultiInference", Predictor.MultiInference),
		unary(PredictionService, "GetModelMetadata", Predictor.GetModelMetadata),
	},
}

var modelDesc = grpc.ServiceDesc{
	ServiceName: ModelService,
	HandlerType: (*modelServer)(nil),
	Metadata:    apis.File_tensorflow_serving_apis_model_service_proto.Path(),
	Methods: []grpc.MethodDesc{
		unary(ModelService, "GetModelStatus", modelServer.GetModelStatus),
		unary(ModelService, "HandleReloadConfigRequest", modelServer.HandleReloadConfigRequest),
	},
}

// Register adds both services to a server. Make the server with Options, else limits and errors are not as promised.
func Register(s grpc.ServiceRegistrar, p Predictor, m *Models) {
	s.RegisterService(&predictionDesc, p)
	s.RegisterService(&modelDesc, m)
}
