package distribute

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

func TestListDevices(t *testing.T) {
	all, err := ListDevices()
	if len(all) == 0 || all[0].Name != "/cpu:0" || all[0].Kind != CPU || all[0].MemoryLimit <= 0 || all[0].Description == "" {
		t.Fatalf("expected the host first, got %+v, %v", all, err)
	}
	cpus, _ := ListDevices(CPU)
	only, _ := ListDevices(GPU)
	if len(cpus) != 1 || len(only) != len(all)-1 {
		t.Errorf("%d devices: expected one CPU and the others, got %v and %v", len(all), cpus, only)
	}
	if _, err := ListDevices("TPU"); err == nil || !strings.Contains(err.Error(), `kind "TPU": expected CPU or GPU`) {
		t.Errorf("expected an error, got %v", err)
	}
	for _, d := range devicesOf([]driver.Info{{Name: "NVIDIA H200", Major: 9, Memory: 1 << 37}, {Name: "NVIDIA A100", Major: 8, Memory: 1 << 36}})[1:] {
		n, err := gpus.Parse(d.Name)
		if want := []string{"NVIDIA H200, sm_90, 128.0 GiB", "NVIDIA A100, sm_80, 64.0 GiB"}[d.Index]; err != nil || !n.GPU || n.Number != d.Index || d.Kind != GPU ||
			!strings.HasPrefix(d.Description, want) || d.MemoryLimit != []int64{1 << 37, 1 << 36}[d.Index] {
			t.Errorf("expected GPU %d, %s, got %+v, %v", d.Index, want, d, err)
		}
	}
}
