package serving

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/testkit"
)

// heavy is a model that reports its memory use.
type heavy struct{ Model }

func (heavy) Memory() int64 { return 3 << 20 }
func (heavy) Queued() int   { return 4 }

// TestUsage: metadata, the page and the metrics report the memory of a version, and which server this is, batched or not.
func TestUsage(t *testing.T) {
	load := func(context.Context, string) (Model, error) { return heavy{modeltest.New()}, nil }
	for _, o := range []Options{{}, {Batching: &Batching{BatchingParameters: DefaultBatching()}, Overload: &Overload{}}} {
		o.Loader, o.Models, o.Metrics, o.Version, o.Build = load, single(folders(t, "m/1"), "m"), "/metrics", "v7", `made of "bricks"`
		s := run(t, o).wait(t)
		at := "http://" + s.Addresses().REST
		var metadata struct {
			Usage struct {
				Memory int64 `json:"memory_bytes"`
				Queue  int   `json:"queue"`
				Uptime *int  `json:"uptime_seconds"`
			} `json:"usage"`
			Server struct {
				Build  string `json:"build"`
				Uptime *int   `json:"uptime_seconds"`
			} `json:"server"`
		}
		_, body, _ := strings.Cut(get(t, at+"/v1/models/m/metadata"), " ")
		if err := json.Unmarshal([]byte(body), &metadata); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if u := metadata.Usage; u.Memory != 3<<20 || u.Queue != 4 || u.Uptime == nil || *u.Uptime < 0 {
			t.Errorf("metadata: got %s", body)
		}
		if metadata.Server.Build != o.Build || metadata.Server.Uptime == nil {
			t.Errorf("metadata: got %s", body)
		}
		if page := get(t, at+"/page/models.json"); !strings.Contains(page, `"usage":{"memory_bytes":3145728,"queue":4,"uptime_seconds":`) {
			t.Errorf("page: got %s", page)
		}
		if page := get(t, at+"/page/server.json"); !strings.Contains(page, `{"build":"made of \"bricks\"","uptime_seconds":`) {
			t.Errorf("page: got %s", page)
		}
		metrics := get(t, at+"/metrics")
		for _, want := range []string{`goestimator_serving_model_memory_bytes{model="m",version="1"} 3.145728e+06`, `goestimator_serving_model_queue{model="m",version="1"} 4`,
			`goestimator_serving_model_available_timestamp_seconds{model="m",version="1"} `, `goestimator_build_info{build="made of \"bricks\"",version="v7"} 1`, "goestimator_serving_uptime_seconds "} {
			if !strings.Contains(metrics, want) {
				t.Errorf("metrics: expected %s, got %s", want, metrics)
			}
		}
	}
}

// TestMemoryOfSavedModel: a SavedModel reports the memory of its variables.
func TestMemoryOfSavedModel(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu")
	s := run(t, Options{Loader: SavedModels(SavedModelOptions{}), Models: Models{Config: ModelDirs(map[string]string{"m": golden})}}).wait(t)
	metadata := get(t, "http://"+s.Addresses().REST+"/v1/models/m/metadata")
	m := regexp.MustCompile(`"memory_bytes": (\d+)`).FindStringSubmatch(metadata)
	if m == nil {
		t.Fatalf("got %s", metadata)
	}
	if n, _ := strconv.Atoi(m[1]); n < 8 || n > 1<<20 {
		t.Errorf("two numbers hold %d bytes", n)
	}
}
