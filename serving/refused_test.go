package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving/client"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// unanswerable copies a SavedModel, with ops of its graph renamed to unknown ones.
func unanswerable(t *testing.T, from, to string, renamed map[string]string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(to, "saved_model.pb")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.SavedModel{}
	if err := proto.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	for _, n := range m.MetaGraphs[0].GraphDef.Node {
		if op := renamed[n.Op]; op != "" {
			n.Op = op
		}
	}
	if text, err = proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedReload: a version that cannot answer is refused with all reasons, over both ports, and the old version serves on.
func TestRefusedReload(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	cfg := manager.Single(map[string]string{"m": base})
	s := run(t, Options{Loader: SavedModels(SavedModelOptions{}), Models: Models{Config: cfg}}).wait(t)
	unanswerable(t, golden, filepath.Join(base, "2"), map[string]string{"Add": "Add17", "Mul": "Mul17"})

	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	cfg.GetModelConfigList().Config[0].VersionLabels = map[string]int64{"stable": 1} // changed, so that the reload waits for it
	service := "/" + grpcapi.ModelService + "/"
	if err := conn.Invoke(testContext(t), service+"HandleReloadConfigRequest", &apis.ReloadConfigRequest{Config: cfg}, &apis.ReloadConfigResponse{}); !strings.Contains(err.Error(), "Add17") {
		t.Fatal(err)
	}
	st := &apis.GetModelStatusResponse{}
	err = conn.Invoke(testContext(t), service+"GetModelStatus", &apis.GetModelStatusRequest{ModelSpec: &apis.ModelSpec{Name: "m"}}, st)
	if err != nil || len(st.ModelVersionStatus) != 2 || st.ModelVersionStatus[1].State != apis.ModelVersionStatus_AVAILABLE {
		t.Fatalf("got %v, %v", st, err)
	}
	overREST := get(t, "http://"+s.Addresses().REST+"/v1/models/m")
	for _, reason := range []string{"Add17", "Mul17"} {
		for port, text := range map[string]string{"gRPC": st.ModelVersionStatus[0].Status.ErrorMessage, "REST": overREST} {
			if !strings.Contains(text, reason) || strings.Contains(text, "rpc error") {
				t.Errorf("%s: %q does not name %s, or has a status within", port, text, reason)
			}
		}
	}
	p, err := dial(t, s.Addresses().GRPC).Predict(testContext(t), client.Model{Name: "m"}, client.Inputs{"x": []float32{2}})
	if err != nil || p.Version != 1 {
		t.Fatalf("got %+v, %v", p, err)
	}
}
