package grpcapi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// damaged has a model whose error quotes bytes that are not text.
type damaged struct{ servable.Catalog }

func (damaged) Status(name string) []servable.Status {
	return []servable.Status{{ID: servable.ID{Name: name, Version: 1}, State: servable.End, Err: errors.New("invalid field name: \xff\x01")}}
}

// TestStatusOfLongName: the error does not repeat arbitrarily long names.
func TestStatusOfLongName(t *testing.T) {
	m := &grpcapi.Models{Catalog: &servable.Memory{}}
	_, err := m.GetModelStatus(t.Context(), &apis.GetModelStatusRequest{ModelSpec: &apis.ModelSpec{Name: strings.Repeat("m", 4097)}})
	if status.Code(err) != codes.InvalidArgument || len(err.Error()) > 200 {
		t.Errorf("got %.300v", err)
	}
}

func TestStatusOfDamagedModel(t *testing.T) {
	m := &grpcapi.Models{Catalog: damaged{}}
	r, err := m.GetModelStatus(t.Context(), &apis.GetModelStatusRequest{ModelSpec: &apis.ModelSpec{Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proto.Marshal(r); err != nil {
		t.Errorf("the status cannot be sent: %v", err)
	}
	if got, want := r.ModelVersionStatus[0].Status.ErrorMessage, "invalid field name: \uFFFD\x01"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}

// A reload that asks for many metrics reads them twice, not once for each.
func TestReloadMetrics(t *testing.T) {
	r := &reloads{}
	m := grpcapi.Models{Catalog: modeltest.Source(), Reloader: r, Metrics: r.counters}
	list := &config.ModelServerConfig_ModelConfigList{ModelConfigList: &config.ModelConfigList{Config: []*config.ModelConfig{{Name: "m"}}}}
	resp, err := m.HandleReloadConfigRequest(t.Context(), &apis.ReloadConfigRequest{
		Config: &config.ModelServerConfig{Config: list}, MetricNames: slices.Repeat([]string{"a", "b"}, 1000)})
	if err != nil || len(resp.GetMetric()) != 2000 || r.looks != 2 {
		t.Fatalf("%v, %d metrics, %d looks", err, len(resp.GetMetric()), r.looks)
	}
	if last := resp.GetMetric()[1999]; last.GetName() != "b" || last.GetInt64ValueIncrease() != 1 {
		t.Errorf("%v", last)
	}
}
