package grpcapi

import (
	"github.com/goestimator/goestimator/internal/serving/profiler"
	"github.com/goestimator/goestimator/internal/serving/profiler/pb"
	"google.golang.org/grpc"
)

// RegisterProfiler adds TensorFlow's ProfilerService to a server that is made with Options.
func (l Limits) RegisterProfiler(to grpc.ServiceRegistrar, s *profiler.Service) {
	l.setDefaults()
	const of = "/" + profiler.Name + "/"
	to.RegisterService(&grpc.ServiceDesc{
		ServiceName: profiler.Name,
		HandlerType: (*any)(nil),
		Metadata:    pb.File_profiler_proto.Path(),
		Methods: []grpc.MethodDesc{
			unary(l, of+"Profile", (*profiler.Service).Profile),
			unary(l, of+"Terminate", (*profiler.Service).Terminate),
			unary(l, of+"Monitor", (*profiler.Service).Monitor),
		},
	}, s)
}
