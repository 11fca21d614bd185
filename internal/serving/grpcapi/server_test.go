package grpcapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request asks signature for the values of x.
func request(signature string, x ...float32) *apis.PredictRequest {
	return &apis.PredictRequest{
		ModelSpec: &apis.ModelSpec{Name: "m", SignatureName: signature},
		Inputs: map[string]*tensor_go_proto.TensorProto{"x": {Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: x,
			TensorShape: &tensor_shape_go_proto.TensorShapeProto{Dim: []*tensor_shape_go_proto.TensorShapeProto_Dim{{Size: int64(len(x))}}}}},
	}
}

const predictMethod = "/tensorflow.serving.PredictionService/Predict"

// Texts are cut to 1024 bytes after they are escaped, and only between characters.
func TestLongTextsAreCut(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const begin, end = `Serving signature key "`, `" not found.`
	conn, room := server(t), 1024-len(begin)
	for name, c := range map[string]struct{ key, want string }{
		"long":              {strings.Repeat("s", 2000), begin + strings.Repeat("s", room) + "...TRUNCATED"},
		"the limit":         {strings.Repeat("s", room-len(end)), begin + strings.Repeat("s", room-len(end)) + end},
		"one more":          {strings.Repeat("s", room-len(end)+1), begin + strings.Repeat("s", room-len(end)+1) + end[:len(end)-1] + "...TRUNCATED"},
		"long when escaped": {strings.Repeat("\x1b", room/4+1), begin + strings.Repeat(`\x1b`, room/4+1)[:room] + "...TRUNCATED"},
		"long and escaped":  {strings.Repeat("\x1b", 2000), begin + strings.Repeat(`\x1b`, room)[:room] + "...TRUNCATED"},
		"a rune is cut":     {strings.Repeat("s", room-1) + strings.Repeat("é", 100), begin + strings.Repeat("s", room-1) + "...TRUNCATED"},
		"a rune is next":    {strings.Repeat("s", room-2) + strings.Repeat("é", 100), begin + strings.Repeat("s", room-2) + "é...TRUNCATED"},
	} {
		err := conn.Invoke(ctx, predictMethod, request(c.key, 1), &apis.PredictResponse{})
		if st := status.Convert(err); st.Code() != codes.FailedPrecondition || st.Message() != c.want {
			t.Errorf("%s: got %v of %d bytes: %q", name, st.Code(), len(st.Message()), st.Message())
		}
	}
}

// An error quotes names of the request without characters that a terminal obeys.
func TestErrorsQuoteHostileNames(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const name, want = "a \x1b[2J\r\u009b31m\u202e é", `a \x1b[2J\r\u009b31m\u202e é`
	model, filter := request("", 1), request("", 1)
	model.ModelSpec.Name, filter.OutputFilter = name, []string{name}
	for _, r := range []*apis.PredictRequest{request(name, 1), model, filter} {
		err := server(t).Invoke(ctx, predictMethod, r, &apis.PredictResponse{})
		if text := status.Convert(err).Message(); err == nil || !strings.Contains(text, want) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%v: %q", status.Code(err), text)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	x := make([]float32, 3<<20) // 12 MiB; gRPC's own limit is 4
	resp := &apis.PredictResponse{}
	if err := server(t).Invoke(ctx, predictMethod, request("", x...), resp, grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)); err != nil {
		t.Fatal(err)
	}
	if y := resp.GetOutputs()["y"].GetFloatVal(); len(y) != len(x) || y[len(y)-1] != 2 {
		t.Errorf("got %d values", len(y))
	}
}

// deadlines records whether calls had a deadline.
type deadlines struct {
	*inference.Service
	seen chan time.Time
	over chan error
}

func (d *deadlines) Predict(ctx context.Context, r *apis.PredictRequest) (*apis.PredictResponse, error) {
	at, _ := ctx.Deadline()
	d.seen <- at
	resp, err := d.Service.Predict(ctx, r)
	d.over <- err
	return resp, err
}

func (d *deadlines) GetModelMetadata(context.Context, *apis.GetModelMetadataRequest) (*apis.GetModelMetadataResponse, error) {
	panic("a defect")
}

func watched(t *testing.T, l grpcapi.Limits) (*deadlines, *grpc.ClientConn) {
	d := &deadlines{&inference.Service{Models: modeltest.Source()}, make(chan time.Time, 1), make(chan error, 1)}
	return d, connect(t, l, d)
}

func TestDeadlineOfTheClient(t *testing.T) {
	d, conn := watched(t, grpcapi.Limits{})
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	err := conn.Invoke(ctx, predictMethod, request("waits", 1), &apis.PredictResponse{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the client got %v", err)
	}
	select { // on a very slow machine the call may not have reached the server in time
	case <-d.seen:
		if err := <-d.over; status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Canceled {
			t.Errorf("the server ended with %v", err)
		}
	default:
	}
}

func TestDeadlineOfTheServer(t *testing.T) {
	d, conn := watched(t, grpcapi.Limits{Timeout: 50 * time.Millisecond})
	err := conn.Invoke(t.Context(), predictMethod, request("waits", 1), &apis.PredictResponse{})
	if st := status.Convert(err); st.Code() != codes.DeadlineExceeded || st.Message() != "Timed out waiting for notification" {
		t.Errorf("the client got %v", err)
	}
	if at := <-d.seen; at.IsZero() {
		t.Error("the call had no deadline")
	}
	<-d.over
}

func TestCancelledCallEndsInTheModel(t *testing.T) {
	d, conn := watched(t, grpcapi.Limits{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() { done <- conn.Invoke(ctx, predictMethod, request("waits", 1), &apis.PredictResponse{}) }()
	<-d.seen
	stop()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("the client got %v", err)
	}
	if err := <-d.over; status.Code(err) != codes.Canceled {
		t.Errorf("the server ended with %v", err)
	}
}

func TestPanicIsInternal(t *testing.T) {
	_, conn := watched(t, grpcapi.Limits{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := conn.Invoke(ctx, "/tensorflow.serving.PredictionService/GetModelMetadata", &apis.GetModelMetadataRequest{}, &apis.GetModelMetadataResponse{})
	if status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	err = conn.Invoke(ctx, "/tensorflow.serving.ModelService/HandleReloadConfigRequest", &apis.ReloadConfigRequest{}, &apis.ReloadConfigResponse{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a server of fixed models reloads: %v", err)
	}
}

func TestSessionServiceIsNotServed(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := server(t).Invoke(ctx, "/tensorflow.serving.SessionService/SessionRun", &apis.SessionRunRequest{}, &apis.SessionRunResponse{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
}

func TestReflection(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(server(t)).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var names []string
	for _, s := range ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if !slices.Contains(names, grpcapi.PredictionService) || !slices.Contains(names, grpcapi.ModelService) {
		t.Errorf("services %v", names)
	}
	resp := ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: grpcapi.PredictionService}})
	var files []string
	for _, b := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(b, f); err != nil {
			t.Fatal(err)
		}
		files = append(files, f.GetName())
	}
	if !slices.Contains(files, "tensorflow/serving/apis/prediction_service.proto") {
		t.Errorf("files %v: %v", files, resp)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}
