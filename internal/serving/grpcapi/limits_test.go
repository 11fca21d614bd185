package grpcapi_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// holding keeps calls until they are cancelled.
type holding struct {
	*inference.Service
	began chan struct{}
}

func (h holding) Predict(ctx context.Context, _ *apis.PredictRequest) (*apis.PredictResponse, error) {
	h.began <- struct{}{}
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

func connect(t *testing.T, l grpcapi.Limits, p grpcapi.Predictor) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpcapi.Options(l)...)
	grpcapi.Register(s, p, &grpcapi.Models{Catalog: modeltest.Source()})
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return dial(t, lis)
}

// TestCallsOfAConnectionAreBounded: a client that keeps opening calls gets no further than MaxStreams.
func TestCallsOfAConnectionAreBounded(t *testing.T) {
	h := holding{began: make(chan struct{}, 2*grpcapi.MaxStreams)}
	conn := connect(t, grpcapi.Limits{}, h)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	var calls sync.WaitGroup
	for range grpcapi.MaxStreams {
		calls.Go(func() { _ = conn.Invoke(ctx, predictMethod, request("", 1), &apis.PredictResponse{}) })
	}
	for range grpcapi.MaxStreams {
		select {
		case <-h.began:
		case <-ctx.Done():
			t.Fatal("fewer calls than promised are going on")
		}
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if err := conn.Invoke(short, predictMethod, request("", 1), &apis.PredictResponse{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("one call more: %v", err)
	}
	if len(h.began) > 0 {
		t.Error("one call more began")
	}
	stop()
	calls.Wait()
}

func TestMessagesAreBoundedAndCompressed(t *testing.T) {
	conn := connect(t, grpcapi.Limits{MaxMessage: 1 << 20}, &inference.Service{Models: modeltest.Source()})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for _, c := range []struct {
		values int
		want   codes.Code
		how    []grpc.CallOption
	}{
		{1 << 16, codes.OK, nil},
		{1 << 16, codes.OK, []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		{1 << 20, codes.ResourceExhausted, nil},
		{1 << 20, codes.ResourceExhausted, []grpc.CallOption{grpc.UseCompressor(gzip.Name)}}, // small on the way
	} {
		resp := &apis.PredictResponse{}
		err := conn.Invoke(ctx, predictMethod, request("", make([]float32, c.values)...), resp, c.how...)
		if status.Code(err) != c.want || err == nil && len(resp.GetOutputs()["y"].GetFloatVal()) != c.values {
			t.Errorf("%d values, compressed %v: %v", c.values, c.how != nil, err)
		}
		if err != nil && !strings.Contains(err.Error(), "larger than max") {
			t.Errorf("the text is %v", err)
		}
	}
}
