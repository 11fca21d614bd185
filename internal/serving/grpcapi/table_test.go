package grpcapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/google/go-cmp/cmp"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
)

// row is one line of the table.
type row struct {
	Case, Call, Request, Response, Code, Text string
}

// reloads is a Reloader that knows one bad model, and counts reloads and reads of its counters.
type reloads struct {
	n     int64
	looks int
}

func (r *reloads) counters() (value func(string) int64) {
	r.looks++
	n := r.n
	return func(string) int64 { return n }
}

func (r *reloads) Reload(_ context.Context, c *config.ModelServerConfig) error {
	if name := c.GetModelConfigList().GetConfig()[0].GetName(); name == "bad" {
		return status.Errorf(codes.InvalidArgument, "Duplicate model name: %s", name)
	}
	r.n++
	return nil
}

// server serves the test model in memory until the test ends.
func server(t testing.TB) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	serve(t, lis)
	return dial(t, lis)
}

func dial(t testing.TB, lis *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func serve(t testing.TB, lis net.Listener) {
	src, r := modeltest.Source(), &reloads{}
	s := grpc.NewServer(grpcapi.Options(grpcapi.Limits{})...)
	grpcapi.Register(s, &inference.Service{Models: src}, &grpcapi.Models{Catalog: src, Reloader: r, Metrics: r.counters})
	reflection.Register(s)
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
}

// method finds a method by its name, and makes its messages.
func method(t *testing.T, name string) (full string, req, resp proto.Message) {
	t.Helper()
	for _, service := range []string{grpcapi.PredictionService, grpcapi.ModelService} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Fatal(err)
		}
		if m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name)); m != nil {
			return "/" + service + "/" + name, message(t, m.Input()), message(t, m.Output())
		}
	}
	t.Fatalf("no method %q", name)
	return "", nil, nil
}

func message(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	m, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return m.New().Interface()
}

// faultID is the number of a panic.
var faultID = regexp.MustCompile("under [0-9a-f]{12}")

func TestTable(t *testing.T) {
	text, err := os.ReadFile("testdata/table.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&rows); err != nil {
		t.Fatal(err)
	}
	conn := server(t)
	for _, r := range rows {
		t.Run(r.Case, func(t *testing.T) {
			full, req, resp := method(t, r.Call)
			want := resp.ProtoReflect().New().Interface()
			if err := prototext.Unmarshal([]byte(r.Request), req); err != nil {
				t.Fatal(err)
			}
			if err := prototext.Unmarshal([]byte(r.Response), want); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			err := conn.Invoke(ctx, full, req, resp)
			wantCode := codes.OK
			if r.Code != "" {
				if err := json.Unmarshal([]byte(`"`+r.Code+`"`), &wantCode); err != nil {
					t.Fatal(err)
				}
			}
			st := status.Convert(err)
			if got := faultID.ReplaceAllString(st.Message(), "under ID"); st.Code() != wantCode || got != r.Text {
				t.Fatalf("got %v %q\nwant %v %q", st.Code(), got, wantCode, r.Text)
			}
			if diff := cmp.Diff(want, resp, protocmp.Transform()); wantCode == codes.OK && diff != "" {
				t.Error(diff)
			}
		})
	}
}
