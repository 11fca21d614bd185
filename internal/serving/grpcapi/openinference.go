package grpcapi

import (
	"context"

	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"google.golang.org/grpc"
)

// openInference answers the Open Inference Protocol; *openinference.Service does.
type openInference interface {
	ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error)
	ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error)
	ModelReady(context.Context, *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error)
	ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error)
	ModelMetadata(context.Context, *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error)
	ModelInfer(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error)
	RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error)
	RepositoryModelLoad(context.Context, *pb.RepositoryModelLoadRequest) (*pb.RepositoryModelLoadResponse, error)
	RepositoryModelUnload(context.Context, *pb.RepositoryModelUnloadRequest) (*pb.RepositoryModelUnloadResponse, error)
}

var _ openInference = (*openinference.Service)(nil)

// RegisterOpenInference adds the service of the Open Inference Protocol to a server that is made with Options.
func (l Limits) RegisterOpenInference(to grpc.ServiceRegistrar, s *openinference.Service) {
	l.setDefaults()
	const of = "/" + openinference.Name + "/"
	to.RegisterService(&grpc.ServiceDesc{
		ServiceName: openinference.Name,
		HandlerType: (*openInference)(nil),
		Metadata:    pb.File_openinference_proto.Path(),
		Methods: []grpc.MethodDesc{
			unary(l, of+"ServerLive", openInference.ServerLive),
			unary(l, of+"ServerReady", openInference.ServerReady),
			unary(l, of+"ModelReady", openInference.ModelReady),
			unary(l, of+"ServerMetadata", openInference.ServerMetadata),
			unary(l, of+"ModelMetadata", openInference.ModelMetadata),
			unary(l, of+"ModelInfer", openInference.ModelInfer),
			unary(l, of+"RepositoryIndex", openInference.RepositoryIndex),
			unary(l, of+"RepositoryModelLoad", openInference.RepositoryModelLoad),
			unary(l, of+"RepositoryModelUnload", openInference.RepositoryModelUnload),
		},
	}, s)
}
