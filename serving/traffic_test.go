package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/internal/serving/traffic"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/metadata"
)

// numbered is a model that returns the number of its version instead of x/2 + 2.
type numbered struct {
	Model
	version float32
}

func (m numbered) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	outs, err := m.Model.Run(ctx, feeds, fetches)
	for i, name := range fetches {
		if err == nil && name == "half:0" {
			outs[i] = tensor.Scalar(m.version)
		}
	}
	return outs, err
}

func loadNumbered(_ context.Context, dir string) (Model, error) {
	var n float32
	_, err := fmt.Sscan(filepath.Base(dir), &n)
	return numbered{modeltest.New(), n}, err
}

func divided(t *testing.T, root, fields string) Models {
	t.Helper()
	file := filepath.Join(root, "models.config")
	text := fmt.Sprintf(`model_config_list { config { name: "m" base_path: %q model_platform: "tensorflow" %s } }`, filepath.Join(root, "m"), fields)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Models{File: file}
}

// doors are the ways to request m without a version, each with or without ("") a routing key.
func doors(t *testing.T, s *running) map[string]func(key string) float64 {
	at := "http://" + s.Addresses().REST
	rest := func(path, body string, answer func(text []byte) float64) func(string) float64 {
		return func(key string) float64 {
			r, err := http.NewRequestWithContext(testContext(t), "POST", at+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if key != "" {
				r.Header.Set("X-Routing-Key", key)
			}
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Body.Close()
			var text json.RawMessage
			if err := json.NewDecoder(reply.Body).Decode(&text); err != nil || reply.StatusCode != 200 {
				t.Fatal(reply.Status, err, string(text))
			}
			return answer(text)
		}
	}
	keyed := func(key string) context.Context {
		if key == "" {
			return testContext(t)
		}
		return metadata.AppendToOutgoingContext(testContext(t), "x-routing-key", key)
	}
	c, invoke := dial(t, s.Addresses().GRPC), plain(t, s.Addresses().GRPC)
	return map[string]func(key string) float64{
		"REST": rest("/v1/models/m:predict", `{"inputs": 1.0}`, func(text []byte) float64 {
			var a struct{ Outputs float64 }
			if err := json.Unmarshal(text, &a); err != nil {
				t.Fatal(err)
			}
			return a.Outputs
		}),
		"Open Inference over REST": rest("/v2/models/m/infer", `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}`, func(text []byte) float64 {
			var a struct{ Outputs []struct{ Data []float64 } }
			if err := json.Unmarshal(text, &a); err != nil || len(a.Outputs) != 1 {
				t.Fatal(err, string(text))
			}
			return a.Outputs[0].Data[0]
		}),
		"gRPC": func(key string) float64 {
			p, err := c.Predict(keyed(key), client.Model{Name: "m"}, client.Inputs{"x": []float32{1}})
			if err != nil {
				t.Fatal(err)
			}
			y, err := client.Output[float32](p, "y")
			if err != nil {
				t.Fatal(err)
			}
			return float64(y)
		},
		"Open Inference over gRPC": func(key string) float64 {
			in := &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32", Shape: []int64{1},
				Contents: &pb.InferTensorContents{Fp32Contents: []float32{1}}}}}
			out := &pb.ModelInferResponse{}
			if err := invoke.Invoke(keyed(key), "/inference.GRPCInferenceService/ModelInfer", in, out); err != nil {
				t.Fatal(err)
			}
			return float64(out.Outputs[0].Contents.Fp32Contents[0])
		},
	}
}

// TestTraffic: requests that name no version are divided at every door, by key if they have one. A reload over gRPC changes the weights.
// Page, metadata and metrics say which version gets how much, and with which results.
func TestTraffic(t *testing.T) {
	root := folders(t, "m/1", "m/2", "m/3")
	s := run(t, Options{Loader: loadNumbered, Metrics: "/metrics", Models: divided(t, root, `traffic {version: 1 weight: 3} traffic {version: 2 weight: 1}`)}).wait(t)
	at := "http://" + s.Addresses().REST
	for name, ask := range doors(t, s) {
		got := map[float64]int{}
		for range 40 {
			got[ask("")]++
		}
		if math.Abs(float64(got[2]-10)) > 2 || got[1]+got[2] != 40 {
			t.Errorf("%s: got %v, expected 30 of version 1 and 10 of version 2", name, got)
		}
		for i := range 10 {
			key := fmt.Sprint("user ", i)
			if a, b := ask(key), ask(key); a != b {
				t.Errorf("%s: %s got versions %v and %v", name, key, a, b)
			}
		}
	}
	for path, want := range map[string]string{
		"/v1/models/m/metadata":            `"traffic_share": 0.75`,
		"/v1/models/m/versions/2/metadata": `"traffic_share": 0.25`,
		"/page/models.json":                `"traffic_share":0.25`,
		"/metrics":                         `goestimator_serving_model_traffic_share{model="m",version="2"} 0.25`,
	} {
		if got := get(t, at+path); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, expected %s", path, got, want)
		}
	}
	if got := get(t, at+"/metrics"); !strings.Contains(got, `goestimator_serving_requests_total{api="Predict",code="OK",entrypoint="GRPC",model="m",signature="serving_default",version="2"}`) ||
		!strings.Contains(got, `goestimator_serving_request_seconds_count{model="m",signature="serving_default",version="1"}`) {
		t.Errorf("metrics by version: got %s", got)
	}
	if got := get(t, at+"/page/models.json"); !strings.Contains(got, `"calls":{"count":`) {
		t.Errorf("page: got %s", got)
	}

	cfg, err := traffic.Parse([]byte(fmt.Sprintf(`model_config_list { config { name: "m" base_path: %q model_platform: "tensorflow"
		traffic {version: 2 weight: 1} traffic {version: 3 weight: 1} } }`, filepath.Join(root, "m"))))
	if err != nil {
		t.Fatal(err)
	}
	reply := &apis.ReloadConfigResponse{}
	if err := plain(t, s.Addresses().GRPC).Invoke(testContext(t), reloadMethod, &apis.ReloadConfigRequest{Config: cfg}, reply); err != nil || reply.GetStatus().GetErrorCode() != 0 {
		t.Fatal(err, reply)
	}
	for name, ask := range doors(t, s) {
		got := map[float64]int{}
		for range 20 {
			got[ask("")]++
		}
		if math.Abs(float64(got[2]-10)) > 1 || got[2]+got[3] != 20 {
			t.Errorf("%s after the reload: got %v, expected as many of version 2 as of 3", name, got)
		}
	}
}

// TestShadow: the other version answers copies of the requests at every door. Clients do not see these answers; the differences are
// counted.
func TestShadow(t *testing.T) {
	s := run(t, Options{Loader: loadNumbered, Metrics: "/metrics",
		Models: divided(t, folders(t, "m/1", "m/2"), `traffic {version: 1 weight: 1} shadow {version: 2}`)}).wait(t)
	at := "http://" + s.Addresses().REST
	n := 0
	for name, ask := range doors(t, s) {
		for range 5 {
			if got := ask(""); got != 1 {
				t.Errorf("%s: got version %v", name, got)
			}
			n++
		}
	}
	for name, want := range map[string]string{
		"/metrics":          fmt.Sprintf(`goestimator_serving_shadow_requests_total{model="m",outcome="different",version="2"} %d`, n),
		"/page/models.json": fmt.Sprintf(`"copies":{"different":%d}`, n),
	} {
		waitFor(t, func() bool { return strings.Contains(get(t, at+name), want) }, name+": "+want)
	}
	metrics := get(t, at+"/metrics")
	for _, want := range []string{
		`goestimator_serving_shadow_difference_bucket{model="m",version="2",le="0.1"} 0`,
		fmt.Sprintf(`goestimator_serving_shadow_difference_bucket{model="m",version="2",le="1"} %d`, n),
		fmt.Sprintf(`goestimator_serving_shadow_request_seconds_count{model="m",version="2"} %d`, n),
		fmt.Sprintf(`:tensorflow:serving:request_count{model_name="m",status="OK"} %d`, n),
		`goestimator_serving_model_shadow_share{model="m",version="2"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics: expected %s, got %s", want, metrics)
		}
	}
}

// waitFor waits until ok.
func waitFor(t *testing.T, ok func() bool, what string) {
	t.Helper()
	end := time.After(waitLimit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("waited in vain for ", what)
		}
	}
}
